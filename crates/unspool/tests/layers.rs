//! No modules in a circle: inside a crate, who uses whom is an order from the bottom up.
//!
//! A room is a file directly under `src/`, or a folder there with all that is in it. Read are the `use` lines and the paths
//! through `crate::` and `super::` of everything but tests; a name that the crate's root gives again belongs to the room
//! that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that are held to it.
const HELD: &[&str] = &["unspool", "unspool-check", "unspool-text", "unspool-server", "unspool-cli"];

/// Which room uses which, and one place where it does.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_crate_has_a_circle_of_modules() {
    let circles: Vec<String> = HELD
        .iter()
        .filter_map(|name| {
            let arrows = arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"));
            assert!(arrows.values().any(|to| !to.is_empty()), "no room of {name} uses another: nothing was read");
            circle(&arrows).map(|found| format!("{name}:\n{}", told(&arrows, &found)))
        })
        .collect();
    assert!(circles.is_empty(), "modules in a circle:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_and_named() {
    let root = "pub mod a;\nmod b;\nmod c;\npub use b::Bee;\n";
    let read = |files: &[(&str, &str)]| {
        let mut arrows = Arrows::new();
        let names = names_at_root(root);
        for (path, text) in files {
            add_file(&mut arrows, Path::new(path), text, &names);
        }
        circle(&arrows)
    };
    let c = ("c.rs", "//! crate::a\nfn f() { crate::Bee::new() }\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n");
    let b = ("b/deep.rs", "use super::other;\nuse crate::{\n    a::{One, Two},\n};\n");
    assert_eq!(read(&[("a.rs", "fn f() {}\n"), b, c]), None);
    assert_eq!(read(&[("a.rs", "use crate::c::See;\n"), b, c]), Some(vec!["a".into(), "c".into(), "b".into()]));
    assert_eq!(read(&[("a.rs", "use super::c;\n"), b, c]), Some(vec!["a".into(), "c".into(), "b".into()]));
}

/// The arrows between the rooms of a crate.
fn arrows(src: &Path) -> Arrows {
    let root = ["lib.rs", "main.rs"].iter().find_map(|name| fs::read_to_string(src.join(name)).ok()).unwrap();
    let names = names_at_root(&root);
    let mut arrows = Arrows::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(src).unwrap();
            if is_test(inside) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                add_file(&mut arrows, inside, &fs::read_to_string(&path).unwrap(), &names);
            }
        }
    }
    arrows
}

fn is_test(inside: &Path) -> bool {
    inside.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "testing.rs")))
}

/// The rooms of a crate by name, and what its root gives again, by the room that has it.
fn names_at_root(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in code(root).split(';').map(str::trim) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        if let [.., "mod", room] = words[..] {
            names.insert(room.to_owned(), room.to_owned());
        }
        let Some(at) = statement.find("use ") else { continue };
        for path in flattened(&statement[at + 4..]) {
            let path: Vec<&str> = path.split("::").filter(|part| *part != "self" && *part != "crate").collect();
            if let [room, .., name] = path[..] {
                names.insert(name.to_owned(), room.to_owned());
            }
        }
    }
    names
}

fn add_file(arrows: &mut Arrows, inside: &Path, text: &str, names: &BTreeMap<String, String>) {
    let mut module: Vec<String> = inside.with_extension("").iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    if matches!(module[..], [ref only] if only == "lib" || only == "main") {
        return;
    }
    let from = module[0].clone();
    let to = arrows.entry(from.clone()).or_default();
    for (path, line) in paths(&code(text), module.len()) {
        let Some(room) = names.get(&path).filter(|room| **room != from) else { continue };
        to.entry(room.clone()).or_insert_with(|| format!("{}:{line}", inside.display()));
    }
}

/// The text without comments and without its tests; line by line as before.
fn code(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim() == "#[cfg(test)]" {
            let rest = &text[line.as_ptr() as usize - text.as_ptr() as usize..];
            // A module of tests in the file itself is its last part; anything else that is for tests is one item further on.
            if rest.lines().nth(1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
                break;
            }
        }
        out.push_str(line.split("//").next().unwrap_or_default());
        out.push('\n');
    }
    out
}

/// The names directly under the crate's root to which a text has a path, with their lines.
fn paths(code: &str, depth: usize) -> Vec<(String, usize)> {
    let up = format!("{}::", vec!["super"; depth].join("::"));
    let mut out = Vec::new();
    for start in ["crate::", up.as_str()] {
        for (at, _) in code.match_indices(start) {
            // `super::super::x` in a file one folder down leads to the root; as the end of a longer chain it does not.
            let before = &code[..at];
            if before.ends_with("::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let line = before.matches('\n').count() + 1;
            let path = path_at(&code[at + start.len()..]);
            let first = |path: String| path.split("::").next().unwrap_or_default().to_owned();
            out.extend(flattened(path).into_iter().map(|path| (first(path), line)));
        }
    }
    out
}

/// A path or a group of paths at the start of a text.
fn path_at(text: &str) -> &str {
    let mut open = 0;
    let end = text.char_indices().find(|(_, c)| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        open < 0 || open == 0 && !(c.is_alphanumeric() || matches!(c, '_' | ':' | '}'))
    });
    &text[..end.map_or(text.len(), |(i, _)| i)]
}

/// `a::{b, c::{d, e}}` as single paths.
fn flattened(path: &str) -> Vec<String> {
    let Some(open) = path.find('{') else {
        return vec![path.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let (before, group) = (path[..open].trim(), &path[open + 1..path.rfind('}').unwrap_or(path.len())]);
    let mut depth = 0;
    let parts = group.split(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(flattened).map(|part| format!("{before}{part}")).collect()
}

/// Rooms that use each other in a circle, from the first one on.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    fn walk<'a>(arrows: &'a Arrows, way: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> Option<Vec<String>> {
        let here = *way.last()?;
        for next in arrows.get(here).into_iter().flat_map(BTreeMap::keys) {
            if let Some(at) = way.iter().position(|room| room == next) {
                return Some(way[at..].iter().map(|room| (*room).to_owned()).collect());
            }
            if !done.contains(next.as_str()) {
                way.push(next);
                if let Some(found) = walk(arrows, way, done) {
                    return Some(found);
                }
                way.pop();
            }
        }
        done.insert(here);
        None
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|room| walk(arrows, &mut vec![room], &mut done))
}

/// A circle with the place of each arrow.
fn told(arrows: &Arrows, circle: &[String]) -> String {
    let steps = circle.iter().zip(circle.iter().cycle().skip(1));
    steps
        .map(|(a, b)| format!("  {a} uses {b} ({})", PathBuf::from(&arrows[a][b]).display()))
        .collect::<Vec<_>>()
        .join("\n")
}
