//! Capabilities of a kind of server. Each dialect declares them once.

/// A notation of constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// JSON schemas.
    Json,
    /// Structural tags of xgrammar.
    Tag,
    /// Grammars of llguidance.
    Lark,
}

/// Whether a server with its own reasoning parser applies a constraint after reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Waits {
    /// It has no such parser.
    #[default]
    Never,
    /// Set by its own flags, for all requests.
    ByFlag,
    /// Set by each request.
    ByRequest,
}

/// The capabilities of a kind of server. The default is for a source that is not a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The notations that it reads; the first one is used unless a flag names another.
    pub notations: &'static [Notation],
    /// The hint if a flag names an unsupported notation.
    pub notation_hint: &'static str,
    /// It holds an answer to an expression or a choice only if that is a grammar in GBNF, and knows no structural tags.
    pub gbnf: bool,
    /// It continues a given text, so an answer can be interrupted and continued.
    pub continues: bool,
    /// Without a limit it writes until its context is full.
    pub fills_context: bool,
    /// How it applies a constraint after reasoning.
    pub waits: Waits,
    /// It enforces `thinking_token_budget` if it has a reasoning parser.
    pub keeps_budgets: bool,
    /// It gets the conversation, and renders the prompt itself.
    pub chats: bool,
    /// Its `/v1/completions` returns log probabilities.
    pub log_probabilities: bool,
    /// It returns the probability of each token of an answer.
    pub probabilities: bool,
    /// The same for the tokens of a prompt.
    pub prompt_probabilities: bool,
    /// It returns token ids.
    pub token_ids: bool,
}

/// For a source that only writes.
pub const NOTHING_BUT_WRITE: Capabilities = Capabilities {
    notations: &[],
    notation_hint: "",
    gbnf: false,
    continues: false,
    fills_context: false,
    waits: Waits::Never,
    keeps_budgets: false,
    chats: false,
    log_probabilities: false,
    probabilities: false,
    prompt_probabilities: false,
    token_ids: false,
};

impl Capabilities {
    /// Whether a client's structured output is forwarded unchanged to a server that may apply it from the first token
    /// on.
    #[must_use]
    pub fn passes_on(&self) -> bool {
        self.continues && self.notations.is_empty()
    }
}
