//! Jinja text, built line by line.
//!
//! Every tag strips the white space before it, so the template's output is in quotes, and lines can be indented for
//! reading.

/// Maximum width of a comment line.
const WIDE: usize = 110;

/// A part of one line's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Plain text.
    Text(String),
    /// An expression.
    Code(String),
}

impl Piece {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn code(code: impl Into<String>) -> Self {
        Self::Code(code.into())
    }
}

/// A template in progress.
#[derive(Debug, Default)]
pub(super) struct Jinja {
    out: String,
    depth: usize,
}

impl Jinja {
    /// The complete template.
    pub(super) fn into_text(self) -> String {
        self.out
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&"    ".repeat(self.depth));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A single tag.
    pub(super) fn tag(&mut self, tag: &str) {
        self.line(&format!("{{%- {tag} %}}"));
    }

    /// `{%- set name = value %}`
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.tag(&format!("set {name} = {value}"));
    }

    /// A tag and its contents.
    pub(super) fn block(&mut self, tag: &str, inside: impl FnOnce(&mut Self)) {
        self.tag(tag);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        let word = tag.split(' ').next().unwrap_or_default();
        self.tag(&format!("end{word}"));
    }

    /// Another branch of the open block.
    pub(super) fn branch(&mut self, tag: &str) {
        self.depth -= 1;
        self.tag(tag);
        self.depth += 1;
    }

    /// Writes these pieces in sequence.
    pub(super) fn write(&mut self, pieces: &[Piece]) {
        let mut said: Vec<String> = Vec::new();
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Code(code) => {
                    said.extend((!text.is_empty()).then(|| quoted(&text)));
                    text.clear();
                    said.push(code.clone());
                }
            }
        }
        said.extend((!text.is_empty()).then(|| quoted(&text)));
        if !said.is_empty() {
            self.line(&format!("{{{{- {} }}}}", said.join(" ~ ")));
        }
    }

    /// A comment, wrapped into lines.
    pub(super) fn comment(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        let mut line = format!("{indent}{{#-");
        // The end of a comment must not occur in it.
        for word in text.replace("#}", "# }").split_whitespace() {
            if line.chars().count() + word.chars().count() >= WIDE {
                self.out.push_str(line.trim_end());
                self.out.push('\n');
                line = format!("{indent}   ");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.out.push_str(&line);
        self.out.push_str(" -#}\n");
    }
}

/// Text as a Jinja literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Texts as a Jinja list.
pub(super) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    format!("[{}]", texts.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_one_expression() {
        let mut jinja = Jinja::default();
        jinja.comment("It says #} and more.");
        jinja.block("if a", |jinja| {
            jinja.write(&[Piece::text("x\n"), Piece::text("\"y\""), Piece::code("a"), Piece::text("\\")]);
            jinja.branch("else");
            jinja.write(&[]);
        });
        let text = "{#- It says # } and more. -#}\n{%- if a %}\n    {{- \"x\\n\\\"y\\\"\" ~ a ~ \"\\\\\" }}\n{%- else %}\n{%- endif %}\n";
        assert_eq!(jinja.into_text(), text);
    }
}
