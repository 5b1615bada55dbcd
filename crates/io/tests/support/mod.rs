//! Files for tests.

use std::path::PathBuf;

use smidgen_value::{Symbol, Table, Value};

/// A directory of its own for a test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("smidgen-read-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Folder(path)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the directory is still there");
    }
}

pub fn cells(table: &Table, name: &str) -> Vec<Value> {
    let column = table.column(Symbol::new(name)).expect("the column is there");
    (0..table.rows()).map(|i| column.cell(i)).collect()
}
