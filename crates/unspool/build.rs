//! Lists the format files, so that adding a format is adding a file.

use std::path::Path;
use std::{env, fs};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&manifest).join("formats");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()))
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    let mut list = String::from("&[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        list.push_str(&format!("({name:?}, include_str!({:?})),\n", path.to_string_lossy()));
    }
    list.push_str("]\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("formats.rs");
    fs::write(out, list).expect("the output folder is writable");
}
