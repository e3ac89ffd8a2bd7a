//! What a kind of server can do for the gateway. Its dialect says it once, and everything that has to know asks here.

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

/// Whether a server that has a reasoning parser of its own applies a constraint behind the reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Waits {
    /// It has none.
    #[default]
    Never,
    /// As its own flags say, for all requests.
    ByFlag,
    /// As each request says.
    ByRequest,
}

/// What a kind of server can do. The default is that of a source which is no server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The notations that it reads; it is told in the first one unless a flag names another.
    pub notations: &'static [Notation],
    /// What to do if a flag names one that it does not read.
    pub notation_hint: &'static str,
    /// It holds an answer to an expression or a choice only if that is a grammar in GBNF, and knows no structural tags.
    pub gbnf: bool,
    /// It continues a text that it is given, so that an answer can be broken off and gone on with.
    pub continues: bool,
    /// Without a bound it writes until its context is full.
    pub fills_context: bool,
    /// How it applies a constraint behind the reasoning.
    pub waits: Waits,
    /// It keeps `thinking_token_budget` if it has a reasoning parser.
    pub keeps_budgets: bool,
    /// It is given the conversation, and makes the prompt itself.
    pub chats: bool,
    /// Its `/v1/completions` gives log probabilities.
    pub log_probabilities: bool,
    /// It tells with what probability it chose each token of an answer.
    pub probabilities: bool,
    /// So too for the tokens of a prompt.
    pub prompt_probabilities: bool,
    /// It tells the ids of the tokens.
    pub token_ids: bool,
}

/// Of a source that can do nothing else.
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
    /// Whether what a client asks of the form of an answer goes on as it came, to a server that may apply it from the first
    /// token on.
    #[must_use]
    pub fn passes_on(&self) -> bool {
        self.continues && self.notations.is_empty()
    }
}
