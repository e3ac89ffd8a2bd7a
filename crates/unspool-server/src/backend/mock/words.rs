//! The texts of the mock model.

/// Openings of a thought.
pub(super) const THOUGHTS: &[&str] = &[
    "The request is short, so the answer should be short too.",
    "First I want to be sure what is being asked.",
    "Two things matter here: what is known already, and what is missing.",
    "I should check the facts before I promise anything.",
    "Let me go through this one step at a time.",
    "There may be more than one reading of this, but one of them is clearly meant.",
];

/// Continuations of a thought before calls.
pub(super) const TOOL_THOUGHTS: &[&str] = &[
    "I do not know this by heart, so I will look it up.",
    "A tool can tell me exactly; guessing would be worse.",
    "The tools at hand cover this, so I will use them.",
];

/// Continuations of a thought after tool results.
pub(super) const RESULT_THOUGHTS: &[&str] =
    &["The tool has answered, so now I only have to put it into words.", "That is all the information I needed."];

/// Sentences of an answer.
pub(super) const ANSWERS: &[&str] = &[
    "The tide turns at half past four, so there is time for a cup of tea.",
    "In short: yes, with a little patience and a good rope.",
    "Here is the gist of it, and the details can follow later.",
    "It depends on the wind, but mostly it works out well.",
    "The harbour café in Łeba opens at nine – bring an umbrella.",
    "Start with the small end, then work towards the middle.",
    "Most people find the second way easier than the first.",
    "That comes to 42 in all, give or take one or two.",
    "One more thing is worth a mention: \"slow\" is not the same as \"late\".",
];

/// Sentences before calls.
pub(super) const BEFORE_CALLS: &[&str] = &[
    "Let me check that for you.",
    "One moment, I am looking it up.",
    "I will ask for both at once.",
    "Let me see what the tools say.",
];

/// Sentences after tool results.
pub(super) const AFTER_RESULTS: &[&str] =
    &["Here is what I found.", "The answer has come in.", "Good news: that worked."];

/// Words for strings of no particular kind.
pub(super) const WORDS: &[&str] = &[
    "amber", "birch", "copper", "delta", "ember", "fjord", "granite", "harbour", "island", "juniper", "kestrel",
    "lantern",
];

/// Longer texts for strings that hold prose.
pub(super) const TEXTS: &[&str] = &[
    "Please bring the blue folder.",
    "First line.\nSecond line, a little longer.",
    "She said \"not today\" and left.",
    "Größe: 3 µm – naïve, but it works.",
];

/// Values by name: part of the name, and suitable values.
pub(super) const BY_NAME: &[(&str, &[&str])] = &[
    ("city", &["Oslo", "Łódź", "São Paulo", "Nairobi"]),
    ("location", &["Lisbon", "Kraków", "Osaka", "Halifax"]),
    ("place", &["Lisbon", "Kraków", "Osaka", "Halifax"]),
    ("country", &["Norway", "Chile", "Kenya", "Japan"]),
    ("currency", &["EUR", "JPY", "CHF"]),
    ("language", &["en", "pl", "ja"]),
    ("timezone", &["Europe/Oslo", "Asia/Tokyo"]),
    ("email", &["ada@example.org", "lin@example.com"]),
    ("phone", &["+44 20 7946 0018"]),
    ("url", &["https://example.org/tides?port=looe"]),
    ("uri", &["https://example.org/tides"]),
    ("path", &["notes/today.md", "src/main.rs"]),
    ("file", &["report.txt", "data.csv"]),
    ("date", &["2026-03-14", "2027-11-02"]),
    ("time", &["09:30", "18:45"]),
    ("query", &["high tide Looe", "weather \"next week\""]),
    ("question", &["When does the ferry leave?"]),
    ("command", &["ls -l", "echo 'done' && pwd"]),
    ("code", &["for n in range(3):\n    print(n)"]),
    ("name", &["Ada", "Lin", "Zoë"]),
    ("title", &["Tides and timetables", "Field notes"]),
    ("unit", &["metric", "kg"]),
    ("color", &["teal", "ochre"]),
    ("colour", &["teal", "ochre"]),
    ("id", &["a17", "b-204"]),
];

/// Parts of a name that indicate prose.
pub(super) const PROSE_NAMES: &[&str] =
    &["text", "body", "message", "note", "content", "description", "comment", "prompt"];
