//! The sections of RESULTS.md that this program writes.

use std::fs;
use std::path::Path;

/// Puts a report between `<!-- begin NAME -->` and `<!-- end NAME -->`.
pub(crate) fn replace(name: &str, report: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (begin, end) = (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"));
    let borders = text.find(&begin).map(|at| at + begin.len()).zip(text.find(&end));
    let Some((from, to)) = borders.filter(|(from, to)| from <= to) else {
        return Err(format!(
            "{} has no section `{name}`\nhint: write the lines {begin} and {end} where it should stand",
            path.display()
        ));
    };
    let new = format!("{}\n\n{}\n\n{}", &text[..from], report.trim(), &text[to..]);
    fs::write(&path, new).map_err(|e| format!("{}: {e}", path.display()))
}
