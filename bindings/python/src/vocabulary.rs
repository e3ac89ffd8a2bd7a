//! Facts about a tokenizer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::Value;
use unspool::TokenBytes;
use unspool_text::tokenizer::{Entries, HubTokenizer};
use unspool_text::{ModelDir, Tokenizer};

use crate::error::Fault;

/// Facts about a tokenizer: the texts that are one token, and the bytes of each token.
///
/// `special` maps texts that are always one token to their ids. `hidden` lists the ones that the tokenizer declares
/// special: they appear in no field unless the format uses them. `bytes` maps each id to its bytes (required for ids
/// without text).
#[pyclass(frozen, module = "unspool")]
#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub(crate) core: unspool::Vocabulary,
    pub(crate) tokenizer_config: Value,
    pub(crate) model_type: Option<String>,
    /// The chat template for requests with tools.
    pub(crate) template: Option<String>,
    pub(crate) architectures: Vec<String>,
}

impl Vocabulary {
    fn of_core(core: unspool::Vocabulary) -> Self {
        Self { core, tokenizer_config: Value::Null, model_type: None, template: None, architectures: Vec::new() }
    }

    fn of_entries(entries: &Entries) -> unspool::Vocabulary {
        unspool::Vocabulary {
            special: entries.added().clone(),
            hidden: entries.special().to_vec(),
            bytes: Some(entries.iter().collect()),
        }
    }

    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let folder = ModelDir::open(path)?;
        let template = folder.templates().choose(true).map(|template| template.source().to_owned());
        Ok(Self {
            core: Self::of_entries(folder.tokenizer().entries()),
            tokenizer_config: folder.tokenizer_config().clone(),
            model_type: folder.model_type().map(str::to_owned),
            template,
            architectures: folder.architectures().map(str::to_owned).collect(),
        })
    }

    /// Whether a text is one entry.
    pub(crate) fn has(&self, text: &str) -> bool {
        let mut entries = self.core.bytes.iter().flat_map(TokenBytes::iter);
        self.core.special.contains_key(text) || entries.any(|(_, bytes)| bytes == text.as_bytes())
    }

    /// The chat template, from a file of its own or from the tokenizer's configuration.
    pub(crate) fn chat_template(&self) -> Option<&str> {
        self.template.as_deref().or_else(|| self.tokenizer_config.get("chat_template")?.as_str())
    }

    /// The model types in its configuration.
    pub(crate) fn model_types(&self) -> Vec<&str> {
        self.model_type.iter().chain(&self.architectures).map(String::as_str).collect()
    }

    /// The vocabulary for any of the accepted objects: see `unspool._vocabulary.of`.
    pub(crate) fn of_object<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if let Ok(vocabulary) = object.cast::<Self>() {
            return Ok(vocabulary.clone());
        }
        let of = OF.import(object.py(), "unspool._vocabulary", "of")?;
        Ok(of.call1((object,))?.cast_into::<Self>()?)
    }
}

#[pymethods]
impl Vocabulary {
    #[new]
    #[pyo3(signature = (special = HashMap::new(), hidden = Vec::new(), bytes = None, *, tokenizer_config = None, model_type = None, template = None))]
    fn new(
        special: HashMap<String, u32>,
        hidden: Vec<String>,
        bytes: Option<HashMap<u32, Vec<u8>>>,
        tokenizer_config: Option<&Bound<'_, PyAny>>,
        model_type: Option<String>,
        template: Option<String>,
    ) -> PyResult<Self> {
        let core = unspool::Vocabulary { special, hidden, bytes: bytes.map(TokenBytes::from) };
        let tokenizer_config = tokenizer_config.map(crate::json::of).transpose()?.unwrap_or_default();
        Ok(Self { tokenizer_config, model_type, template, ..Self::of_core(core) })
    }

    /// The vocabulary of a checkpoint's directory: `tokenizer.json`, `tekken.json` or a tiktoken file, with
    /// `tokenizer_config.json`, `config.json` and the chat template if present.
    #[staticmethod]
    fn from_folder(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Self::open(&path))?)
    }

    /// The vocabulary of a `tokenizer.json`, given as text.
    #[staticmethod]
    #[pyo3(signature = (json, *, tokenizer_config = None, model_type = None, template = None))]
    fn from_tokenizer_json(
        py: Python<'_>,
        json: &str,
        tokenizer_config: Option<&Bound<'_, PyAny>>,
        model_type: Option<String>,
        template: Option<String>,
    ) -> PyResult<Self> {
        let tokenizer = py.detach(|| HubTokenizer::new(json)).map_err(Fault::from)?;
        let tokenizer_config = tokenizer_config.map(crate::json::of).transpose()?.unwrap_or_default();
        let core = Self::of_entries(tokenizer.entries());
        Ok(Self { tokenizer_config, model_type, template, ..Self::of_core(core) })
    }

    /// Texts that are one token, with their ids.
    #[getter]
    fn special(&self) -> HashMap<String, u32> {
        self.core.special.clone()
    }

    /// Texts that appear in no field unless the format uses them.
    #[getter]
    fn hidden(&self) -> Vec<String> {
        self.core.hidden.clone()
    }

    /// Whether the bytes of the tokens are known, so that ids suffice without text.
    #[getter]
    fn has_bytes(&self) -> bool {
        self.core.bytes.is_some()
    }

    /// The bytes of a token; None if unknown.
    fn token_bytes<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        let bytes = self.core.bytes.as_ref()?.get(id)?;
        Some(PyBytes::new(py, bytes))
    }

    fn __repr__(&self) -> String {
        let tokens = match &self.core.bytes {
            Some(bytes) => format!("{} tokens", bytes.len()),
            None => "no bytes".to_owned(),
        };
        format!("<Vocabulary of {tokens}, {} special>", self.core.special.len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let this = slf.get();
        let fields = PyDict::new(py);
        fields.set_item("special", &this.core.special)?;
        fields.set_item("hidden", &this.core.hidden)?;
        let bytes = this.core.bytes.as_ref().map(|table| {
            let bytes = PyDict::new(py);
            table.iter().try_for_each(|(id, token)| bytes.set_item(id, PyBytes::new(py, token))).map(|()| bytes)
        });
        fields.set_item("bytes", bytes.transpose()?)?;
        fields.set_item("tokenizer_config", pythonize::pythonize(py, &this.tokenizer_config)?)?;
        fields.set_item("model_type", &this.model_type)?;
        fields.set_item("template", &this.template)?;
        let class = slf.get_type().into_any();
        let partial = py.import("functools")?.getattr("partial")?.call((class,), Some(&fields))?;
        Ok((partial, PyTuple::empty(py)))
    }
}
