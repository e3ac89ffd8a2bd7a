//! A model's folder, or only its chat template, and the facts known from it.

use std::path::Path;

use serde_json::{Value, json};
use unspool::setup::Half;
use unspool::{Checkpoint, Registry, Vocabulary};
use unspool_check::template::prompter;
use unspool_text::{ModelDir, Prompter, TextError, model_dir};

use crate::failure::Failure;
use crate::files;

/// The parser name that is resolved from the model's files.
pub(crate) const AUTO: &str = "auto";

/// A folder, or a template and the known facts.
pub(crate) struct Place {
    folder: Option<ModelDir>,
    config: Option<Value>,
    prompter: Prompter,
}

impl Place {
    /// Opens a folder, or reads a file with a template; `option` names it in error messages.
    pub(crate) fn open(option: &str, path: &Path, config: Option<&Path>) -> Result<Self, Failure> {
        let config = config.map(|path| files::json("--tokenizer-config", path)).transpose()?;
        let shown = path.display().to_string();
        if path.is_dir() {
            let folder = ModelDir::open_without_tokenizer(path).map_err(failure)?;
            let prompter = Prompter::new(Some(&folder), None, None).map_err(failure)?;
            let config = config.or_else(|| Some(folder.tokenizer_config().clone()));
            return Ok(Self { folder: Some(folder), config, prompter });
        }
        let source = files::text(option, path)?;
        let tokens = config.as_ref().map(model_dir::named_tokens).unwrap_or_default();
        let prompter = prompter(&source, tokens).map_err(|error| failure(error.at(&shown)))?;
        Ok(Self { folder: None, config, prompter })
    }

    /// Renders with the template.
    pub(crate) fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    /// The known vocabulary.
    pub(crate) fn vocabulary(&self) -> Vocabulary {
        match self.folder.as_ref().filter(|folder| folder.has_tokenizer()) {
            Some(folder) => {
                let entries = folder.tokenizer().entries();
                Vocabulary { special: entries.added().clone(), hidden: entries.special().to_vec(), bytes: None }
            }
            None => self.config.as_ref().map(Vocabulary::of_tokenizer_config).unwrap_or_default(),
        }
    }

    /// The tokenizer config, with the template in use added: some formats look there.
    pub(crate) fn tokenizer_config(&self) -> Value {
        let mut config = self.config.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
        if let Some(template) = self.prompter.template(true) {
            config["chat_template"] = json!(template.source());
        }
        config
    }

    /// The types of the model, as its configuration names them.
    pub(crate) fn model_types(&self) -> Vec<&str> {
        let folder = self.folder.iter();
        folder.flat_map(|folder| folder.model_type().into_iter().chain(folder.architectures())).collect()
    }

    /// Calls a function with the facts for format detection.
    pub(crate) fn with_checkpoint<T>(&self, work: impl FnOnce(Checkpoint<'_>) -> T) -> T {
        let tokenizer = self.folder.as_ref().filter(|folder| folder.has_tokenizer()).map(|folder| folder.tokenizer());
        let has = |text: &str| tokenizer.is_some_and(|tokenizer| tokenizer.entries().added().contains_key(text));
        let has_token: Option<&dyn Fn(&str) -> bool> = if tokenizer.is_some() { Some(&has) } else { None };
        let template = self.prompter.template(true).map(|template| template.source());
        work(Checkpoint { template, has_token, model_types: &self.model_types() })
    }

    /// The name of a half: as given, or detected for `auto`.
    pub(crate) fn named(
        &self,
        registry: &Registry,
        half: Half,
        given: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        match given {
            Some(AUTO) => Ok(Some(self.with_checkpoint(|checkpoint| registry.detect(half, &checkpoint))?.name)),
            _ => Ok(given.map(str::to_owned)),
        }
    }
}

fn failure(error: TextError) -> Failure {
    Failure::Usage { message: error.message, hint: error.hint }
}
