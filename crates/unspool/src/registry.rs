//! All formats by name.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind};
use crate::format::check;
use crate::format::detect::Detect;
use crate::format::file::{FormatFile, Names};
use crate::format::source::{Facts, Source, names_of};
use crate::models::Models;
use crate::setup::{Half, SetupWarning};
use crate::suggest::{did_you_mean, near};

/// The built-in format files: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/formats.rs"));

/// A format file, parsed on first use.
#[derive(Debug)]
struct Lazy {
    path: String,
    text: &'static str,
    source: OnceLock<Result<Arc<Source>, Error>>,
}

impl Lazy {
    fn source(&self) -> Result<Arc<Source>, Error> {
        self.source.get_or_init(|| Source::read(&self.path, self.text).map(Arc::new).map_err(Error::from)).clone()
    }
}

/// All formats by name: the built-in ones and a user's own.
#[derive(Debug, Clone)]
pub struct Registry {
    own: BTreeMap<(u8, String), Arc<Source>>,
    warnings: Vec<SetupWarning>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

fn builtin_files() -> &'static [Lazy] {
    static FILES_READ: OnceLock<Vec<Lazy>> = OnceLock::new();
    FILES_READ.get_or_init(|| {
        FILES
            .iter()
            .map(|(name, text)| Lazy { path: format!("formats/{name}"), text, source: OnceLock::new() })
            .collect()
    })
}

/// The names of the built-in files. Only the `names` of a file are parsed at first; the rest when one of its names is
/// needed.
struct Builtin {
    names: Vec<Names>,
    by_name: BTreeMap<(u8, String), usize>,
}

fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let names: Vec<Names> = builtin_files().iter().map(|file| names_of(file.text)).collect();
        let mut by_name = BTreeMap::new();
        for (i, names) in names.iter().enumerate() {
            by_name.extend(names.reasoning.iter().map(|name| ((Half::Reasoning as u8, name.clone()), i)));
            by_name.extend(names.tools.iter().map(|name| ((Half::Tools as u8, name.clone()), i)));
        }
        Builtin { names, by_name }
    })
}

impl Registry {
    /// The built-in formats.
    #[must_use]
    pub fn builtin() -> Self {
        Self { own: BTreeMap::new(), warnings: Vec::new() }
    }

    /// Adds a user's format file without checking it.
    pub(crate) fn enter(&mut self, path: &str, text: &str) -> Result<Arc<Source>, Error> {
        let mut source = Source::read(path, text)?;
        if let Some(base) = source.extends.clone() {
            let other = self
                .find(Half::Tools, &base)
                .or_else(|_| self.find(Half::Reasoning, &base))
                .map_err(|_| Error::from(source.error("extends", format!("no format is named `{base}`").into())))?;
            source.extend_from(&other);
            source.check_all()?;
        }
        self.check_ends(&source)?;
        let source = Arc::new(source);
        self.warnings.extend(source.old.iter().map(|(line, word, now)| SetupWarning {
            message: format!("{path}:{line}: `{word}` is an old word"),
            hint: Some(format!("write {now}")),
        }));
        let before = self.clone();
        for (half, name) in names_by_half(&source) {
            if let Ok(taken) = before.find(half, &name) {
                self.warnings.push(SetupWarning {
                    message: format!("{path}: `{name}` of {} is no longer that of {}", half.flag(), taken.path),
                    hint: Some("if that is not meant, give your format a name of its own".to_owned()),
                });
            }
            self.own.insert((half as u8, name), Arc::clone(&source));
        }
        Ok(source)
    }

    /// Checks that the rules of a file name existing formats.
    pub(crate) fn check_rules(&self, source: &Source) -> Result<(), Error> {
        for (i, rule) in rules_of(source)?.into_iter().enumerate() {
            for (half, key, name) in
                [(Half::Reasoning, "reasoning", rule.reasoning), (Half::Tools, "tools", rule.tools)]
            {
                let Some(error) = name.and_then(|name| self.find(half, &name).err()) else { continue };
                let told = source.error(&format!("detect.{i}.{key}"), error.message.into());
                return Err(Error { hint: error.hint, ..Error::from(told) });
            }
        }
        Ok(())
    }

    /// For a file without calls: checks that the ends of its thoughts open something in another format.
    fn check_ends(&self, source: &Source) -> Result<(), Error> {
        for name in source.names.reasoning.iter() {
            let words = source.resolve(&Facts { name, ..Facts::default() })?;
            if words.reasoning.ends.is_empty() || !words.tools.call.is_empty() {
                continue;
            }
            let callers = self.names(Half::Tools);
            let others: Vec<FormatFile> =
                callers.iter().filter_map(|name| self.words(Half::Tools, name).ok()).collect();
            if let Some((key, told)) = check::ends(&words, &others) {
                return Err(source.error(&key, told).into());
            }
        }
        Ok(())
    }

    /// Warnings about the files that were added.
    #[must_use]
    pub fn warnings(&self) -> &[SetupWarning] {
        &self.warnings
    }

    /// All files: a user's own first, then the built-in ones.
    pub(crate) fn sources(&self) -> Result<Vec<Arc<Source>>, Error> {
        let mut sources: Vec<Arc<Source>> = Vec::new();
        for source in self.own.values() {
            if !sources.iter().any(|known| Arc::ptr_eq(known, source)) {
                sources.push(Arc::clone(source));
            }
        }
        for file in builtin_files() {
            sources.push(file.source()?);
        }
        Ok(sources)
    }

    /// All names of a half, sorted.
    #[must_use]
    pub fn names(&self, half: Half) -> Vec<String> {
        let mut names: Vec<String> = builtin()
            .by_name
            .keys()
            .chain(self.own.keys())
            .filter(|(h, _)| *h == half as u8)
            .map(|(_, name)| name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The name that an alias stands for: another server's name, or a former name.
    #[must_use]
    pub fn alias(&self, half: Half, name: &str) -> Option<&str> {
        if self.has(half, name) {
            return None;
        }
        self.all_names().find_map(|names| {
            let own = match half {
                Half::Reasoning => &names.reasoning,
                Half::Tools => &names.tools,
            };
            names.alias.get(name)?.iter().find(|name| own.contains(name)).map(String::as_str)
        })
    }

    /// All aliases of a half, each with its name, sorted.
    #[must_use]
    pub fn aliases(&self, half: Half) -> Vec<(String, String)> {
        let aliases = self.all_names().flat_map(|names| names.alias.keys());
        let mut all: Vec<(String, String)> =
            aliases.filter_map(|alias| Some((alias.clone(), self.alias(half, alias)?.to_owned()))).collect();
        all.sort();
        all.dedup();
        all
    }

    /// A name as its file spells it.
    pub(crate) fn canonical<'a>(&'a self, half: Half, name: &'a str) -> &'a str {
        self.alias(half, name).unwrap_or(name)
    }

    /// The first version of vLLM with this name, if older versions in use lack it.
    #[must_use]
    pub fn since(&self, half: Half, name: &str) -> Option<String> {
        let source = self.find(half, name).ok()?;
        let mut versions = source.names.since.iter();
        versions.find(|(_, names)| names.iter().any(|own| own == name)).map(|(version, _)| version.clone())
    }

    /// Whether a half has a name.
    #[must_use]
    pub fn has(&self, half: Half, name: &str) -> bool {
        let key = (half as u8, name.to_owned());
        self.own.contains_key(&key) || builtin().by_name.contains_key(&key)
    }

    /// The file that has a name.
    pub(crate) fn find(&self, half: Half, name: &str) -> Result<Arc<Source>, Error> {
        let name = self.canonical(half, name);
        let key = (half as u8, name.to_owned());
        if let Some(source) = self.own.get(&key) {
            return Ok(Arc::clone(source));
        }
        match builtin().by_name.get(&key) {
            Some(i) => builtin_files()[*i].source(),
            None => Err(self.unknown(half, name)),
        }
    }

    /// The keys of a format under one of its names, without a checkpoint or a request.
    ///
    /// # Errors
    /// An unknown name, or a file that cannot be read.
    pub fn words(&self, half: Half, name: &str) -> Result<FormatFile, Error> {
        let name = self.canonical(half, name);
        let source = self.find(half, name)?;
        Ok(source.resolve(&Facts { name, ..Facts::default() })?)
    }

    /// The flavours of a format: turn syntaxes that differ between checkpoints of one parser.
    #[must_use]
    pub fn flavours(&self, half: Half, name: &str) -> Vec<String> {
        let name = self.canonical(half, name);
        self.find(half, name).map(|source| source.flavours(name)).unwrap_or_default()
    }

    /// The models that the format files list.
    ///
    /// # Errors
    /// A format file that cannot be read.
    pub fn models(&self) -> Result<Models, Error> {
        let mut models = Models::default();
        for source in self.sources()? {
            for (half, name) in names_by_half(&source) {
                let lists = self.words(half, &name)?.models;
                let globs = match half {
                    Half::Reasoning => lists.reasoning,
                    Half::Tools => lists.tools,
                };
                models.add(half, name, globs.0);
            }
        }
        Ok(models)
    }

    /// The path and the text of the file that has a name.
    ///
    /// # Errors
    /// An unknown name, or a file that cannot be read.
    pub fn file(&self, half: Half, name: &str) -> Result<(String, String), Error> {
        let source = self.find(half, name)?;
        Ok((source.path.clone(), source.text.clone()))
    }

    /// Names of the other half that are known to work with this one: the same name first, then those of its file, then
    /// those of other files that the key `pairs` lists. An unknown name has none.
    #[must_use]
    pub fn partners(&self, half: Half, name: &str) -> Vec<String> {
        let name = self.canonical(half, name);
        let Ok(source) = self.find(half, name) else { return Vec::new() };
        let mut partners: Vec<String> = match half {
            Half::Reasoning => source.names.tools.to_vec(),
            Half::Tools => source.names.reasoning.to_vec(),
        };
        match half {
            Half::Reasoning => partners.extend(self.words(half, name).into_iter().flat_map(|w| w.pairs.to_vec())),
            Half::Tools => partners.extend(self.names(Half::Reasoning).into_iter().filter(|other| {
                self.words(Half::Reasoning, other).is_ok_and(|words| words.pairs.iter().any(|p| p == name))
            })),
        }
        let own = partners.iter().position(|p| p == name);
        if let Some(own) = own {
            partners[..=own].rotate_right(1);
        }
        let mut seen = std::collections::HashSet::new();
        partners.retain(|p| seen.insert(p.clone()));
        partners
    }

    /// The names of all files, a user's own first.
    fn all_names(&self) -> impl Iterator<Item = &Names> {
        self.own.values().map(|source| &source.names).chain(&builtin().names)
    }

    /// The names that a checkpoint's type always selects.
    pub(crate) fn names_of_type(&self, model_type: &str) -> Option<&Names> {
        self.all_names().find(|names| names.model_type.iter().any(|own| own == model_type))
    }

    fn unknown(&self, half: Half, name: &str) -> Error {
        let listed = "`unspool formats` lists all names";
        let names = self.names(half);
        let question = || did_you_mean(&near(name, names.iter().map(String::as_str)));
        let of_model = || self.models().ok()?.name(half, name).map(str::to_owned);
        let other = || {
            let own = self.canonical(half.other(), name);
            self.has(half.other(), own).then(|| {
                let partners = self.partners(half.other(), own);
                let more = partners.first().map(|own| format!("; the {} that goes with it is `{own}`", half.noun()));
                let (noun, flag) = (half.other().noun(), half.other().flag());
                format!("`{name}` is a {noun}: give it to {flag}{}", more.unwrap_or_default())
            })
        };
        let hint = match of_model().map(|now| format!("`{name}` is a model, whose parser is `{now}`")).or_else(other) {
            Some(hint) => hint,
            None => question().map_or_else(|| listed.to_owned(), |question| format!("{question} {listed}")),
        };
        let message = format!("no parser for {} is named `{name}`", half.flag());
        Error::new(ErrorKind::UnknownName, message).hint(hint).at(half.flag())
    }
}

/// All names of one file.
pub(crate) fn names_by_half(source: &Source) -> Vec<(Half, String)> {
    let reasoning = source.names.reasoning.iter().map(|name| (Half::Reasoning, name.clone()));
    reasoning.chain(source.names.tools.iter().map(|name| (Half::Tools, name.clone()))).collect()
}

/// The `[[detect]]` rules of one file.
pub(crate) fn rules_of(source: &Source) -> Result<Vec<Detect>, Error> {
    Ok(source.resolve(&Facts::default())?.detect)
}
