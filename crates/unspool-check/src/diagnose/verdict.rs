//! Derives the verdict from all checks.

use unspool::Half;

use super::report::{Cause, Check, Outcome, Subject, Verdict};
use super::survey::Survey;

/// The verdict: the first matching cause.
pub(super) fn of(survey: &Survey<'_>, checks: &[Check]) -> Verdict {
    let failed = |subject| checks.iter().find(|check| check.check == subject && check.result == Outcome::Fail);
    let make = |kind, message: String| Verdict { kind, message, flags: Vec::new(), hint: None };
    if let Some(check) = failed(Subject::CodePoints) {
        let hint = "something between model and client, or the template, replaced characters; the parser reads what the model's \
            vocabulary has";
        return Verdict { hint: Some(hint.to_owned()), ..make(Cause::LookAlikes, check.message.clone()) };
    }
    if let Some(check) = failed(Subject::SpecialTokens) {
        let hint = "ask with `skip_special_tokens: false` (a server does so by itself where its parser needs it)";
        let flags = stripped_flags(survey);
        return Verdict { flags, hint: Some(hint.to_owned()), ..make(Cause::StrippedMarkers, check.message.clone()) };
    }
    if let Some(verdict) = prompt_side_thought(survey) {
        return verdict;
    }
    if let Some(check) = failed(Subject::FinishReason) {
        let hint = "a longer `max_tokens`, or a shorter thought, lets the model finish";
        return Verdict { hint: Some(hint.to_owned()), ..make(Cause::CutOff, check.message.clone()) };
    }
    if let Some(verdict) = by_parsers(survey, checks) {
        return verdict;
    }
    if let Some(verdict) = client_field(survey) {
        return verdict;
    }
    for (subject, kind) in [
        (Subject::Template, Cause::WrongTemplate),
        (Subject::Names, Cause::WrongParser),
        (Subject::Flags, Cause::WrongParser),
        (Subject::Pair, Cause::UnknownPair),
        (Subject::Streaming, Cause::WrongParser),
    ] {
        if let Some(check) = failed(subject) {
            return Verdict { flags: right_flags(survey), ..make(kind, check.message.clone()) };
        }
    }
    if let Some(check) = failed(Subject::RawText) {
        let message = format!("{}, and no format here reads it", check.message);
        return Verdict { hint: Some(NEW.to_owned()), ..make(Cause::NoFormat, message) };
    }
    calm(survey)
}

/// The hint for an unknown format.
const NEW: &str = "`unspool new` makes a format file from such an output";

/// Nothing failed: there is no call, or everything is right.
fn calm(survey: &Survey<'_>) -> Verdict {
    let make = |kind, message: &str| Verdict { kind, message: message.to_owned(), flags: Vec::new(), hint: None };
    let calls = survey.best().map_or(0, |best| best.calls) + survey.views.iter().map(|v| v.output.calls).sum::<usize>();
    if calls == 0 && survey.wants_calls() {
        if survey.views.iter().any(|view| unknown_markup(&view.output.raw)) {
            return Verdict {
                hint: Some(NEW.to_owned()),
                ..make(Cause::NoFormat, "the output has markup that no format here reads")
            };
        }
        let hint = "the model was given tools and answered in words; `tool_choice`, the descriptions of the tools and the \
            system message decide whether it calls";
        return Verdict { hint: Some(hint.to_owned()), ..make(Cause::NoCall, "the model did not call") };
    }
    if calls == 0 && survey.pair.is_none() && survey.views.iter().any(|view| unknown_markup(&view.output.raw)) {
        return Verdict {
            hint: Some(NEW.to_owned()),
            ..make(Cause::NoFormat, "the output has markup that no format here reads")
        };
    }
    let moved = survey.views.iter().any(|view| view.output.reasoning_fields.0 == ["reasoning"]);
    let hint = "the thought is in `reasoning`; clients made for older servers look for `reasoning_content`";
    let flags = if survey.pair.is_none() { right_flags(survey) } else { Vec::new() };
    let message =
        if flags.is_empty() { "nothing is wrong" } else { "nothing is wrong with the output; these flags read it" };
    Verdict { flags, hint: moved.then(|| hint.to_owned()), ..make(Cause::Ok, message) }
}

/// Whether a text has something like a call in markers: a tag before an object or before another tag.
fn unknown_markup(text: &str) -> bool {
    let text = text.trim();
    text.match_indices(['>', ']']).any(|(at, _)| {
        let tag = text[..at].rfind(['<', '[']).is_some_and(|open| {
            let inner = &text[open + 1..at];
            (1..60).contains(&inner.len()) && !inner.contains(['<', '\n']) && inner.contains(char::is_alphabetic)
        });
        let behind = text[at + 1..].trim_start();
        let call = behind.starts_with('{') && behind.contains("\":");
        let tags = behind.starts_with('<') && text[at + 1..].contains("</");
        tag && (call || (tags && text.contains('_')))
    })
}

/// The thought begins or ends in the prompt, but the parser does not know.
fn prompt_side_thought(survey: &Survey<'_>) -> Option<Verdict> {
    let make = |message: String, flags, hint: &str| Verdict {
        kind: Cause::PromptSideThought,
        message,
        flags,
        hint: Some(hint.to_owned()),
    };
    for view in &survey.views {
        let output = view.output;
        // An entire finished answer is reasoning: the prompt had closed the thought.
        let swallowed = output.parsed && output.content.trim().is_empty() && output.calls == 0;
        let finished = output.finish_reason.as_deref().is_none_or(|reason| reason == "stop");
        let reasoning = output.reasoning.trim();
        if swallowed && finished && !reasoning.is_empty() && !has_closer(survey, reasoning) {
            let calls = survey.best().is_some_and(|best| best.calls > 0);
            let hint = "where the prompt closes the thought (thinking is switched off), send the same `chat_template_kwargs` that \
                the template got, or take the reasoning parser that belongs to the template";
            let what = if calls { "the call is in the reasoning" } else { "the answer is in the reasoning" };
            let message = format!("{what}: the parser waits for the end of a thought that the model did not begin");
            return Some(make(message, right_flags(survey), hint));
        }
        // A closer without an opener remains in the text: the prompt had opened the thought.
        let own = view.own.as_ref().map(|own| own.message.content.as_str());
        let text = if output.parsed { Some(output.content.as_str()) } else { own };
        if let Some((opener, closer)) = text.and_then(|text| lone_closer(survey, text)) {
            let flags = right_flags(survey);
            let message =
                format!("the prompt opens the thought with {opener}: the output has {closer} alone, and it stays text");
            let hint = "take a reasoning parser that begins in the thought, and give it the prompt";
            return Some(make(message, flags, hint));
        }
    }
    None
}

/// The markers of thoughts of all formats.
fn thoughts(survey: &Survey<'_>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for known in survey.question.formats.all(Half::Reasoning) {
        for thought in known.words.reasoning.thought.iter() {
            let Some((opener, closer)) = thought.split_once("{thought}") else { continue };
            let pair = (opener.trim().to_owned(), closer.trim().to_owned());
            if !pair.0.is_empty() && pair.1.len() > 3 && !out.contains(&pair) {
                out.push(pair);
            }
        }
    }
    out
}

fn has_closer(survey: &Survey<'_>, text: &str) -> bool {
    thoughts(survey).iter().any(|(_, closer)| text.contains(closer.as_str()))
}

/// The first closer of a thought without its opener in a text.
fn lone_closer(survey: &Survey<'_>, text: &str) -> Option<(String, String)> {
    let lone =
        |pair: &(String, String)| text.find(pair.1.as_str()).is_some_and(|at| !text[..at].contains(pair.0.as_str()));
    thoughts(survey).into_iter().find(lone)
}

/// Another parser parses the output, or the template teaches another format than the parser's.
fn by_parsers(survey: &Survey<'_>, checks: &[Check]) -> Option<Verdict> {
    let failed = |subject| checks.iter().find(|check| check.check == subject && check.result == Outcome::Fail);
    let best = survey.best()?;
    let named = survey.named.iter().any(Option::is_some);
    let parsed = survey.views.iter().any(|view| view.output.parsed);
    let lost = best.calls > 0 && parsed;
    if !(named || survey.question.served.is_some() || lost || failed(Subject::RawText).is_some()) || survey.reads_well()
    {
        return None;
    }
    if best.calls == 0 && survey.own.as_ref().is_some_and(|own| own.markup_left <= best.markup_left) {
        return None;
    }
    let make = |kind, message: String| Verdict { kind, message, flags: right_flags(survey), hint: None };
    let ties: Vec<&str> = survey.ties().filter_map(|entry| entry.tool_call_parser.as_deref()).collect();
    let [reasoning, tools] = survey.named;
    let right_tools = tools.is_some_and(|tools| ties.contains(&tools));
    // The template contradicts parser and model.
    if let (Some(check), false) = (failed(Subject::Template), right_tools)
        && (best.calls == 0 || model_is(survey, tools))
    {
        let hint = "use the template that the checkpoint brings, or one that is made for this parser";
        let message = format!("the chat template does not write what the parser reads: {}", check.message);
        return Some(Verdict { flags: Vec::new(), hint: Some(hint.to_owned()), ..make(Cause::WrongTemplate, message) });
    }
    if let (true, true, Some(check)) = (right_tools, reasoning.is_some(), failed(Subject::Pair)) {
        return Some(make(Cause::UnknownPair, check.message.clone()));
    }
    if let (Some(Err(error)), Some(_), Some(_)) = (&survey.pair, reasoning, tools)
        && failed(Subject::Names).is_none()
    {
        return Some(make(Cause::UnknownPair, error.message.clone()));
    }
    if best.calls == 0 && best.markup_left > 0 {
        return None;
    }
    let read_by = if ties.len() > 1 {
        ties.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
    } else {
        ties.first().map_or_else(|| "no tool-call parser".to_owned(), |name| format!("`{name}`"))
    };
    let message = match (tools, best.calls) {
        (_, 0) => {
            format!("the thought is read by {}, not by the flags", best.reasoning_parser.as_deref().unwrap_or("none"))
        }
        (None, _) => format!("no tool-call parser is named; the output has calls for {read_by}"),
        (Some(tools), _) if right_tools => {
            format!("`{tools}` reads the calls, but the thought needs another reasoning parser")
        }
        (Some(tools), _) if ties.len() > 1 => format!("`{tools}` does not read these calls; {read_by} do"),
        (Some(tools), _) => format!("`{tools}` does not read these calls; {read_by} does"),
    };
    let tie = (ties.len() > 1 && !right_tools).then(|| format!("a tie: {read_by} read it alike"));
    Some(Verdict { hint: tie, ..make(Cause::WrongParser, message) })
}

/// Whether a tools half is for the model, by its id alone.
fn model_is(survey: &Survey<'_>, tools: Option<&str>) -> bool {
    let model = survey.question.model.or(survey.question.served.and_then(|served| served.model.as_deref()));
    let registry = survey.question.formats.registry();
    let found = model.and_then(|model| crate::names::of_model(registry, Half::Tools, model));
    match (tools, found) {
        (Some(tools), Some(found)) => super::checks::is_right(survey, Half::Tools, tools, &found),
        _ => false,
    }
}

/// The client reads reasoning from the wrong field.
fn client_field(survey: &Survey<'_>) -> Option<Verdict> {
    let history = survey.question.request["messages"].as_array();
    let used = |name: &str| history.is_some_and(|all| all.iter().any(|message| message.get(name).is_some()));
    for view in &survey.views {
        let (full, empty) = &view.output.reasoning_fields;
        let Some(field) = full.first() else { continue };
        let others =
            ["reasoning_content", "reasoning"].into_iter().filter(|other| !full.iter().any(|own| own == other));
        let asked = others.into_iter().find(|other| empty.iter().any(|own| own == other) || used(other));
        if let Some(asked) = asked {
            return Some(Verdict {
                kind: Cause::ClientField,
                message: format!("the server gives the thought in `{field}`, the client reads `{asked}`"),
                flags: Vec::new(),
                hint: Some(format!(
                    "read `{field}`; the gateway can write `{asked}` instead (`--reasoning-field {asked}`)"
                )),
            });
        }
    }
    None
}

/// The flags that parse the outputs; the model's own names if they are as good.
fn right_flags(survey: &Survey<'_>) -> Vec<String> {
    let Some(best) = survey.best() else { return Vec::new() };
    let ties: Vec<_> = survey.ties().collect();
    let preferred = |name: &str| ties.iter().find(|entry| entry.tool_call_parser.as_deref() == Some(name));
    let [own_reasoning, own_tools] = survey.named;
    let expected = survey.expected[1].as_ref().map(|found| found.name.as_str());
    let entry = own_tools.and_then(preferred).or_else(|| expected.and_then(preferred));
    let entry = entry.copied().or(common(survey, &ties)).unwrap_or(best);
    let mut reasoning = entry.reasoning_parser.clone();
    if let (None, Some(found)) = (&reasoning, &survey.expected[0]) {
        reasoning = Some(found.name.clone());
    }
    if reasoning.is_none() {
        reasoning = own_reasoning.map(str::to_owned).filter(|_| survey.reads_well());
    }
    let tools = entry.tool_call_parser.clone().filter(|_| entry.calls > 0);
    let tools = tools.or_else(|| survey.expected[1].as_ref().map(|found| found.name.clone()));
    flags(reasoning, tools)
}

/// Of several that read alike, the one whose file most others come from: the first name of its file.
fn common<'e>(survey: &Survey<'_>, ties: &[&'e super::Entry]) -> Option<&'e super::Entry> {
    let names = |entry: &super::Entry| {
        let known = survey.question.formats.known(Half::Tools, entry.tool_call_parser.as_deref()?)?;
        let thought = entry.reasoning_parser.as_deref();
        let thought = thought.and_then(|name| survey.question.formats.known(Half::Reasoning, name));
        let names = &known.words.names.tools;
        let of_thought = thought.map_or(0, |known| known.words.names.reasoning.len());
        (names.first() == Some(&known.name)).then_some((names.len(), of_thought))
    };
    let most = ties.iter().filter_map(|entry| names(entry)).max()?;
    ties.iter().find(|entry| names(entry) == Some(most)).copied()
}

fn stripped_flags(survey: &Survey<'_>) -> Vec<String> {
    let found = survey.views.iter().find_map(|view| view.stripped.as_ref());
    let name = found.filter(|found| found.names.len() == 1).map(|found| found.names[0].clone());
    let reasoning = survey.expected[0].as_ref().map(|found| found.name.clone());
    let same = survey.named[1].is_some_and(|own| Some(own) == name.as_deref());
    if same { Vec::new() } else { flags(reasoning.filter(|_| name.is_some()), name) }
}

fn flags(reasoning: Option<String>, tools: Option<String>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(name) = reasoning {
        out.push(format!("--reasoning-parser {name}"));
    }
    if let Some(name) = tools {
        out.push("--enable-auto-tool-choice".to_owned());
        out.push(format!("--tool-call-parser {name}"));
    }
    out
}
