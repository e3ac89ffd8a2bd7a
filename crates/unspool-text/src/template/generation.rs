//! `{% generation %}` … `{% endgeneration %}`: marks model output for training. It does not change the text, but is a
//! scope.

/// Replaces those tags with `{% with %}`, which is only a scope. Line numbers stay the same.
pub(super) fn without_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(end);
        let inside = tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']);
        match inside.trim() {
            "generation" => out.push_str(&tag.replacen("generation", "with", 1)),
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", "endwith", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::without_tags;

    #[test]
    fn only_the_two_tags_change() {
        let source =
            "{%- generation -%}a\n{% endgeneration %}{% if add_generation_prompt %}generation{% endif %}{% set x";
        let expected = "{%- with -%}a\n{% endwith %}{% if add_generation_prompt %}generation{% endif %}{% set x";
        assert_eq!(without_tags(source), expected);
    }
}
