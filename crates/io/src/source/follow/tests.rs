//! Files and folders that grow.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::Progress;

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("smidgen-follow-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for a test");
    folder.join(name)
}

fn add(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("room for a line");
}

fn xs(table: &Table) -> Vec<f64> {
    let column = table.column(Symbol::new("x")).and_then(Column::reals);
    column.expect("a column of numbers").data.to_vec()
}

#[test]
fn a_csv_is_read_up_to_its_last_whole_line() {
    let path = file("lines.csv");
    let _ = fs::remove_file(&path);
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let options = TableOptions::default();
    add(&path, "x,w\n1,a\n2,\"b\nb\"\n3,");
    let (mut follower, table) =
        Follower::open(&path, &options, None, None, reading).expect("two rows");
    assert_eq!(xs(&table), [1.0, 2.0]);
    assert!(follower.next(None, reading).expect("nothing new").is_none());
    // The rest of a line; a text that looks like a number; a line break inside quotes.
    add(&path, "7\n4,\"c\n");
    let new = follower.next(None, reading).expect("a row").expect("a row");
    assert_eq!(xs(&new), [3.0]);
    assert!(matches!(new.column(Symbol::new("w")), Some(Column::Texts(_))));
    add(&path, "d\"\n5,e\n");
    assert_eq!(xs(&follower.next(None, reading).expect("two rows").expect("two rows")), [4.0, 5.0]);
    add(&path, "6,");
    assert!(follower.next(None, reading).expect("half a row").is_none());
    // What was read before has changed.
    let text = fs::read_to_string(&path).expect("the file").replace("3,7", "3,8");
    fs::write(&path, format!("{text}f\n")).expect("the file");
    let error = follower.next(None, reading).expect_err("row 2 is another one");
    assert!(error.contains("is not what it was, in rows 2 to 2"), "{error}");
}

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let folder = file("pieces");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let options = TableOptions::default();
    add(&folder.join("b.csv"), "x\n3\n4\n");
    add(&folder.join("a.csv"), "x\n1\n2\n");
    let (mut follower, table) =
        Follower::open(&folder, &options, None, None, reading).expect("two files");
    assert_eq!(xs(&table), [1.0, 2.0, 3.0, 4.0]);
    add(&folder.join("c.csv.tmp"), "x\n5");
    assert!(follower.next(None, reading).expect("nothing new").is_none());
    add(&folder.join("c.csv"), "x\n5\n");
    assert_eq!(xs(&follower.next(None, reading).expect("a file").expect("a row")), [5.0]);
    fs::write(folder.join("b.csv"), "x\n3\n5\n9\n").expect("a file");
    let error = follower.next(None, reading).expect_err("it was written to");
    assert!(error.contains("in rows 2 to 3"), "{error}");
    fs::write(folder.join("b.csv"), "x\n3\n4\n").expect("a file");
    add(&folder.join("aa.csv"), "x\n1\n");
    let error = follower.next(None, reading).expect_err("it comes in between");
    assert!(error.contains("has come before files"), "{error}");
}

#[test]
fn a_position_gives_the_rows_that_were_there_then() {
    let path = file("positions.csv");
    let _ = fs::remove_file(&path);
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let options = TableOptions::default();
    add(&path, "x\n1\n2\n3");
    let (mut first, _) = Follower::open(&path, &options, None, None, reading).expect("rows");
    let mut positions = vec![first.position()];
    for text in ["\n4\n", "5\n6\n7", "\n8\n"] {
        add(&path, text);
        first.next(None, reading).expect("rows").expect("rows");
        positions.push(first.position());
    }
    add(&path, "9\n");
    let mut seen = Vec::new();
    let again = Follower::open(&path, &options, None, Some(positions[0]), reading);
    let (mut again, table) = again.expect("rows");
    seen.push(xs(&table));
    for upto in &positions[1..] {
        seen.push(xs(&again.next(Some(*upto), reading).expect("rows").expect("rows")));
    }
    seen.push(xs(&again.next(None, reading).expect("a row").expect("a row")));
    assert_eq!(seen, [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0], vec![7.0, 8.0], vec![9.0]]);
    let beyond = Follower::open(&path, &options, None, Some(1000), reading);
    assert!(beyond.expect_err("it is shorter").contains("has become shorter"));
}

#[test]
fn rows_that_have_left_the_window_are_left_out() {
    let folder = file("windowed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let window = Window { rows: 80 };
    let lines = |from: usize, to: usize| (from..to).map(|x| format!("{x}\n")).collect::<String>();
    let file = |k: usize, from, to| {
        add(&folder.join(format!("{k:02}.csv")), &format!("x\n{}", lines(from, to)));
    };
    (0..10).for_each(|k| file(k, 30 * k, 30 * (k + 1)));
    let options = TableOptions::default();
    let (mut follower, table) =
        Follower::open(&folder, &options, Some(window), None, reading).expect("rows");
    // Of 300 rows 80 stay, and the rest of a block of eight.
    assert_eq!((window.block(), table.first_row(), table.rows()), (8, 216, 84));
    let numbers = |from: usize, to: usize| (from..to).map(|x| x as f64).collect::<Vec<_>>();
    assert_eq!(xs(&table), numbers(216, 300));
    file(10, 300, 310);
    let new = follower.next(None, reading).expect("rows").expect("rows");
    assert_eq!((new.first_row(), xs(&new)), (0, numbers(300, 310)));
    (20..30).for_each(|k| file(k, 10 + 15 * k, 10 + 15 * (k + 1)));
    let new = follower.next(None, reading).expect("rows").expect("rows");
    assert_eq!((new.first_row(), xs(&new)), (66, numbers(376, 460)));
}

#[cfg(feature = "columnar")]
#[test]
fn a_stream_is_read_up_to_its_last_whole_message() {
    use arrow_array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, types::Int32Type};
    use arrow_ipc::writer::StreamWriter;

    let path = file("messages.arrows");
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let batch = |x: f64, word: &str| {
        let words: DictionaryArray<Int32Type> = [word, "b"].into_iter().collect();
        let columns: [(&str, ArrayRef); 2] = [
            ("x", std::sync::Arc::new(Float64Array::from(vec![x, x + 1.0]))),
            ("w", std::sync::Arc::new(words)),
        ];
        RecordBatch::try_from_iter(columns).expect("a batch")
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(0.0, "a").schema()).expect("it");
    let mut ends = Vec::new();
    for (k, word) in ["a", "c", "d", "b"].iter().enumerate() {
        writer.write(&batch(2.0 * k as f64, word)).expect("written");
        ends.push(writer.get_ref().len());
    }
    writer.finish().expect("written");
    let bytes = writer.get_ref().clone();
    fs::write(&path, &bytes[..ends[0] - 1]).expect("a file");
    let open = || Follower::open(&path, &TableOptions::default(), None, None, reading);
    assert!(open().expect_err("half a message").contains("no rows yet"));
    fs::write(&path, &bytes[..ends[0] + 9]).expect("a file");
    let (mut follower, table) = open().expect("two rows");
    let words = |table: &Table| {
        let column = table.column(Symbol::new("w")).expect("a column");
        (0..2).map(|row| column.cell(row).to_string()).collect::<Vec<_>>().concat()
    };
    let mut seen = vec![(xs(&table)[0], words(&table))];
    for length in ends[0] + 1..=bytes.len() {
        let known = follower.position();
        fs::write(&path, &bytes[..length]).expect("a file");
        if let Some(table) = follower.next(None, reading).expect("a stream") {
            assert!(ends.contains(&length) && known < length as u64);
            seen.push((xs(&table)[0], words(&table)));
        }
    }
    let expected = [(0.0, "ab"), (2.0, "cb"), (4.0, "db"), (6.0, "bb")];
    assert_eq!(seen.len(), 4);
    for ((x, words), (wanted, letters)) in seen.iter().zip(&expected) {
        assert_eq!((x, &*words.replace('"', "")), (wanted, *letters));
    }
    // A row that was read has changed.
    let mut other = bytes.clone();
    let place = ends[1] - 200;
    other[place] ^= 1;
    other.push(0);
    fs::write(&path, &other).expect("a file");
    let error = follower.next(None, reading).expect_err("it is another one");
    assert!(error.contains("is not what it was, in rows 2 to 3"), "{error}");
}
