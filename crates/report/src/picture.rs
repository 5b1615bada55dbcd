//! Plots as pictures of their own, outside of a page.
//!
//! On a page the colours of a plot come from variables of the page's style, which differ between
//! light, dark and paper. A picture carries the rules of `plot.css` with the values of the light
//! style in the place of the variables, which every reader of SVG understands.

use crate::svg::coordinate;

const PAGE: &str = include_str!("style.css");
const PLOT: &str = include_str!("plot.css");

/// How a plot on a page begins.
const BEGINNING: &str = "<svg class=\"plot\" viewBox=\"0 0 ";

/// The light style of plots without variables.
pub(crate) fn style() -> String {
    let light = PAGE.split('}').next().unwrap_or_default();
    let variables = light.split(['{', ';']).filter_map(|line| line.trim().split_once(": "));
    let mut style = format!(
        "svg.plot {{ font: 12px \"Noto Sans\", \"DejaVu Sans\", Arial, sans-serif; }}\n\
         .sheet {{ fill: var(--paper); }}\n{PLOT}"
    );
    for (name, value) in variables.filter(|(name, _)| name.starts_with("--")) {
        style = style.replace(&format!("var({name})"), value);
    }
    style
}

/// One plot of a page: its size, and what is inside of the element.
fn parts(plot: &str) -> Option<(f64, f64, &str)> {
    let (size, rest) = plot.split_once('"')?;
    let (width, height) = size.split_once(' ')?;
    let inside = rest.split_once('>')?.1.trim_end().strip_suffix("</svg>")?;
    Some((width.parse().ok()?, height.parse().ok()?, inside))
}

/// The SVG of a figure of a page (one plot, or several that stand below each other) as a file of
/// its own. What is no such figure is returned as it is.
pub fn standalone(svg: &str) -> String {
    let plots: Vec<_> = svg.split(BEGINNING).skip(1).filter_map(parts).collect();
    if plots.is_empty() || !svg.starts_with(BEGINNING) {
        return svg.to_owned();
    }
    let width = plots.iter().map(|plot| plot.0).fold(0.0, f64::max);
    let mut height = 0.0;
    let mut inside = String::new();
    for (_, own_height, plot) in &plots {
        let down = coordinate(height);
        inside += &format!("<g transform=\"translate(0 {down})\">{plot}</g>");
        height += own_height;
    }
    let (width, height) = (coordinate(width), coordinate(height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\"><style>\n{}</style>\
         <rect class=\"sheet\" width=\"{width}\" height=\"{height}\"/>{inside}</svg>\n",
        style()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Colour, Mark, Plot};

    fn example() -> Plot {
        let mut plot = Plot::new("a < b", Axis::new("x"), Axis::new("y"), 100.0);
        plot.named("line", Colour::Second, Mark::Line(vec![(0.0, 0.0), (1.0, 1.0)]));
        plot
    }

    #[test]
    fn no_variable_is_left() {
        let style = style();
        assert!(!style.contains("var(") && !style.contains("--"), "{style}");
        assert!(style.contains(".c2 { color: #c44e00; }"), "{style}");
        assert!(style.contains(".sheet { fill: #ffffff; }"), "{style}");
    }

    #[test]
    fn pictures_have_a_size() {
        let single = example().standalone();
        assert!(single.contains(" width=\"400\" height=\""), "{single}");
        assert_eq!(single.matches("<svg").count(), single.matches("</svg>").count());
        let svg = example().svg();
        let double = standalone(&(svg.clone() + &example().narrow().svg()));
        assert_eq!(double.matches("<title>").count(), 2);
        assert!(double.contains(" width=\"400\""), "{double}");
        let height = |svg: &str| parts(&svg[BEGINNING.len()..]).expect("a plot").1;
        assert!(double.contains(&format!(" height=\"{}\"", coordinate(2.0 * height(&svg)))));
        assert_eq!(standalone(&single), single);
    }
}
