//! The built-in formats by name, and the user's own.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use unspool::{Half, Registry};

use crate::error::Fault;

/// A user's format files, as path and text, in the order in which they were added.
static OWN: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());

/// Everything that is registered in this process.
pub(crate) fn registry() -> Result<Registry, Fault> {
    registry_with(&own())
}

/// The built-in formats with these files.
pub(crate) fn registry_with(files: &[(String, String)]) -> Result<Registry, Fault> {
    let mut registry = Registry::builtin();
    for (path, text) in files {
        registry.add(path, text)?;
    }
    Ok(registry)
}

/// A user's format files.
pub(crate) fn own() -> Vec<(String, String)> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn named(half: Half) -> &'static str {
    match half {
        Half::Reasoning => "reasoning",
        Half::Tools => "tools",
    }
}

/// All formats: `(half, name, file)` for each name and each of its aliases on other servers. `half` is `"reasoning"` or
/// `"tools"`.
#[pyfunction]
pub(crate) fn formats() -> PyResult<Vec<(&'static str, String, String)>> {
    let registry = registry()?;
    let mut out = Vec::new();
    for half in [Half::Reasoning, Half::Tools] {
        let aliases = registry.aliases(half).into_iter().map(|(alias, _)| alias);
        for name in registry.names(half).into_iter().chain(aliases) {
            let (path, _) = registry.file(half, &name).map_err(Fault::from)?;
            out.push((named(half), name, path));
        }
    }
    Ok(out)
}

/// Adds your own format file and returns `(half, name)` for each name that it defines. From then on these names refer
/// to the file, in this process.
#[pyfunction]
pub(crate) fn add_formats(path: PathBuf) -> PyResult<Vec<(&'static str, String)>> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Fault::new("bad_format", format!("cannot read {shown}: {error}"))
            .hint("give the path of a format file")
            .at(&shown)
    })?;
    let mut files = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let mut registry = registry_with(&files)?;
    let names = registry.add(&shown, &text).map_err(Fault::from)?;
    files.retain(|(known, _)| *known != shown);
    files.push((shown, text));
    Ok(names.into_iter().map(|(half, name)| (named(half), name)).collect())
}
