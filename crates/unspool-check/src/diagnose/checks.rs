//! The nine checks.

use unspool::{Half, Message};

use super::report::{Check, Evidence, Outcome, Subject};
use super::survey::{Survey, View, cut};
use crate::border;
use crate::names::{self, Found};
use crate::template::Verdict;

/// Maximum number of outputs that are parsed again in pieces.
const MOST_STREAMED: usize = 5;

/// All of them.
pub(super) fn all(survey: &Survey<'_>) -> Vec<Check> {
    vec![
        flags(survey),
        known_names(survey),
        template(survey),
        pair(survey),
        streaming(survey),
        finish_reason(survey),
        raw_text(survey),
        special_tokens(survey),
        code_points(survey),
    ]
}

/// Are both flags given?
fn flags(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::Flags, result, message);
    let [reasoning, tools] = survey.named;
    if let Some(served) = survey.question.served
        && tools.is_some()
        && !served.auto_tool_choice
    {
        let message = "--tool-call-parser is given without --enable-auto-tool-choice: the model may not call by itself";
        return check(Outcome::Fail, message.to_owned());
    }
    let Some(best) = survey.best() else { return check(Outcome::Unknown, "there is nothing to read".to_owned()) };
    let needs = [
        (Half::Reasoning, reasoning, best.reasoning_parser.is_some()),
        (Half::Tools, tools, best.calls > 0 && best.tool_call_parser.is_some()),
    ];
    if reasoning.is_none() && tools.is_none() && survey.question.served.is_none() {
        return check(Outcome::Unknown, "no parser is named, so what the server has is not known".to_owned());
    }
    for (half, named, needed) in needs {
        if named.is_none() && needed {
            let what = if half == Half::Tools { "calls" } else { "thoughts" };
            return check(Outcome::Fail, format!("{} is missing: the output has {what}", half.flag()));
        }
    }
    match (reasoning, tools) {
        (Some(_), Some(_)) => check(Outcome::Pass, "both parsers are named".to_owned()),
        _ => check(Outcome::Pass, "the output needs no other parser than what is named".to_owned()),
    }
}

/// Are the names known, and right for the model?
fn known_names(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::Names, result, message);
    let registry = survey.question.formats.registry();
    let mut said = Vec::new();
    for (at, half) in [Half::Reasoning, Half::Tools].into_iter().enumerate() {
        let Some(name) = survey.named[at] else { continue };
        let flag = half.flag();
        if let Err(error) = registry.words(half, name) {
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            return check(Outcome::Fail, format!("{}{hint}", error.message)).with([Evidence::new(flag, name)]);
        }
        if let Some(version) = registry.since(half, name) {
            let old = survey.question.server.and_then(|server| server.version.as_deref());
            if old.is_some_and(|old| is_older(old, &version)) {
                let message =
                    format!("vLLM has `{name}` from {version} on, and the server is {}", old.unwrap_or_default());
                return check(Outcome::Fail, message).with([Evidence::new(flag, name)]);
            }
            said.push(format!("vLLM has `{name}` from {version} on"));
        }
        if let Some(found) = &survey.expected[at]
            && !is_right(survey, half, name, found)
        {
            let message = format!("{flag} is `{name}`, the model's is `{}`: {}", found.name, found.why);
            return check(Outcome::Fail, message).with([Evidence::new(flag, name)]);
        }
    }
    let told = survey.expected.iter().flatten().map(|found| format!("`{}`, for {}", found.name, found.why));
    match (survey.named, survey.expected.iter().any(Option::is_some)) {
        ([None, None], true) => {
            let told: Vec<String> = told.collect();
            check(Outcome::Unknown, format!("no parser is named; the model's: {}", told.join("; ")))
        }
        ([None, None], false) => check(Outcome::Unknown, "no parser is named".to_owned()),
        (_, true) => {
            said.insert(0, "the names are known and the model's".to_owned());
            check(Outcome::Pass, said.join("; "))
        }
        (_, false) => {
            said.insert(0, "the names are known; --model or --model-dir says whether they are the model's".to_owned());
            check(Outcome::Pass, said.join("; "))
        }
    }
}

/// Whether a name parses the same as the right one.
pub(super) fn is_right(survey: &Survey<'_>, half: Half, name: &str, found: &Found) -> bool {
    let registry = survey.question.formats.registry();
    let same = |other: &str| other == name || names::alike(registry, half, other).iter().any(|alike| alike == name);
    same(&found.name) || found.also.iter().any(|other| same(other))
}

/// Whether a version is older than another one; an invalid one is not.
fn is_older(own: &str, other: &str) -> bool {
    let parts = |version: &str| -> Vec<u64> {
        let digits = version.trim_start_matches('v').split(['.', '+', '-']);
        digits.map_while(|part| part.parse().ok()).collect()
    };
    let (own, other) = (parts(own), parts(other));
    !own.is_empty() && own < other
}

/// Do template and parsers agree?
fn template(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::Template, result, message);
    if let Some(given) = survey.question.served.and_then(|served| served.chat_template.as_deref())
        && given.contains(['{', '}'])
        && (given.ends_with(".jinja") || given.ends_with(".j2"))
        && !given.contains("{{")
        && !given.contains("{%")
    {
        let message = "--chat-template is a path with a brace in it, which vLLM takes for the template itself";
        return check(Outcome::Fail, message.to_owned()).with([Evidence::new("--chat-template", given)]);
    }
    let Some(findings) = &survey.findings else {
        return check(Outcome::Unknown, "the chat template is not known; --model-dir brings it".to_owned());
    };
    let source = survey.question.prompter.and_then(|prompter| prompter.template(true)).map(|own| own.source());
    let wrong: Vec<_> = findings.iter().filter(|one| one.verdict == Verdict::Differs && is_basic(&one.check)).collect();
    if let Some(first) = wrong.first() {
        let evidence = wrong.iter().map(|one| {
            let line = one.line.and_then(|line| source?.lines().nth(line.checked_sub(1)?));
            let text = line.map(str::trim).or(one.written.as_deref()).unwrap_or(&one.message);
            Evidence { line: one.line, ..Evidence::new("chat template", text) }
        });
        let line = first.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        return check(Outcome::Fail, format!("{}: {}{line}", first.check, first.message)).with(evidence);
    }
    let marks = survey.pair.as_ref().and_then(|pair| pair.as_ref().ok()).map(crate::marks::of_pair);
    let written = marks.into_iter().flatten().filter_map(|mark| {
        let source = source?;
        source.find(&*mark).map(|at| Evidence::at("chat template", source, at, mark.len()))
    });
    let other = findings.iter().find(|one| one.verdict == Verdict::Differs);
    let said = other.map(|one| format!("; {}: {}", one.check, one.message)).unwrap_or_default();
    check(Outcome::Pass, format!("the template writes what the parsers read{said}")).with(written)
}

/// Whether a template must get this conversation right for calls and reasoning to arrive at all.
fn is_basic(check: &str) -> bool {
    !matches!(check, "text and a call" | "a call with odd arguments")
}

/// Do the two halves work together?
fn pair(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::Pair, result, message);
    let [Some(reasoning), Some(tools)] = survey.named else {
        return check(Outcome::Unknown, "two halves are not named".to_owned());
    };
    let pair = match &survey.pair {
        Some(Ok(pair)) => pair,
        Some(Err(error)) => {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            return check(Outcome::Fail, format!("{}{hint}", error.message));
        }
        None => return check(Outcome::Unknown, "two halves are not named".to_owned()),
    };
    if let Some(warning) = pair.warnings().first() {
        let hint = warning.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        return check(Outcome::Fail, format!("{}{hint}", warning.message));
    }
    let registry = survey.question.formats.registry();
    let partners = registry.partners(Half::Reasoning, reasoning);
    let callers = registry.partners(Half::Tools, tools);
    if partners.iter().any(|name| name == tools) {
        return check(Outcome::Pass, format!("`{reasoning}` and `{tools}` are a known pair"));
    }
    // A half that is not specific to a family works with any other.
    if partners.is_empty() || callers.is_empty() {
        return check(Outcome::Unknown, format!("nothing is known of `{reasoning}` and `{tools}` together"));
    }
    let known = format!("`{reasoning}` and `{tools}` are no known pair; with `{reasoning}` go {}", listed(&partners));
    let result = if survey.reads_well() { Outcome::Unknown } else { Outcome::Fail };
    check(result, known)
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Does a stream give the same result as a complete answer?
fn streaming(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::Streaming, result, message);
    if let Some(server) = survey.question.server
        && let (Some(whole), Some(streamed)) = (&server.whole, &server.streamed)
    {
        let pairs = [
            ("the reasoning", &whole.reasoning, &streamed.reasoning),
            ("the content", &whole.content, &streamed.content),
        ];
        let differs = pairs.iter().find(|(_, whole, streamed)| whole.trim() != streamed.trim());
        if let Some((what, whole, streamed)) = differs {
            let evidence = [Evidence::new("whole", *whole), Evidence::new("streamed", *streamed)];
            return check(Outcome::Fail, format!("the server streams {what} otherwise than it gives it whole"))
                .with(evidence);
        }
        if whole.calls != streamed.calls {
            let message = format!("the server gives {} calls whole and {} streamed", whole.calls, streamed.calls);
            return check(Outcome::Fail, message);
        }
        return check(Outcome::Pass, "the server streams what it gives whole".to_owned());
    }
    let best = survey.best();
    let pair = match &survey.pair {
        Some(Ok(pair)) => Some(pair.clone()),
        _ => best.and_then(|best| {
            survey.reader.formats.pair(best.reasoning_parser.as_deref(), best.tool_call_parser.as_deref())
        }),
    };
    let Some(pair) = pair else { return check(Outcome::Unknown, "there is no pair to read with".to_owned()) };
    for (number, view) in survey.views.iter().take(MOST_STREAMED).enumerate() {
        let read = |size| survey.reader.read(&pair, cut(&view.output.raw), size).map(|reading| said(reading.message));
        if read(0) != read(1) {
            return check(Outcome::Fail, format!("output {}: read in pieces it is not the same as whole", number + 1));
        }
    }
    check(Outcome::Pass, "read in pieces it is the same as whole, here; --url asks a server both ways".to_owned())
}

fn said(message: Message) -> (String, String, Vec<unspool::ToolCall>) {
    (message.reasoning, message.content, message.tool_calls)
}

/// Why did the answer end?
fn finish_reason(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::FinishReason, result, message);
    for view in &survey.views {
        let output = view.output;
        match output.finish_reason.as_deref() {
            Some("length") => {
                let place = if view.ends_in_call() { " inside a call" } else { "" };
                let message = format!("`finish_reason` is `length`: the answer was cut off{place}");
                return check(Outcome::Fail, message).with([tail(view)]);
            }
            Some("tool_calls") if output.parsed && output.calls == 0 => {
                return check(Outcome::Fail, "`finish_reason` is `tool_calls`, but the answer has none".to_owned());
            }
            Some(other @ ("content_filter" | "abort" | "error" | "failed" | "cancelled")) => {
                return check(Outcome::Fail, format!("`finish_reason` is `{other}`: the answer is not whole"));
            }
            _ if view.ends_in_call() && view.stripped.is_none() => {
                return check(Outcome::Fail, "the output ends inside a call".to_owned()).with([tail(view)]);
            }
            _ => {}
        }
    }
    let reasons: Vec<&str> = survey.views.iter().filter_map(|view| view.output.finish_reason.as_deref()).collect();
    match reasons.first() {
        Some(reason) => check(Outcome::Pass, format!("`finish_reason` is `{reason}`")),
        None => check(Outcome::Unknown, "the input does not say why the answer ended".to_owned()),
    }
}

/// The end of an output.
fn tail(view: &View<'_>) -> Evidence {
    let raw = &view.output.raw;
    let start = border::ceil(raw, raw.len().saturating_sub(60));
    Evidence::at(view.output.place.clone(), raw, start, raw.len() - start)
}

/// Does the client receive markup?
fn raw_text(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::RawText, result, message);
    let mut evidence = Vec::new();
    for view in &survey.views {
        let output = view.output;
        let parts = if output.parsed {
            vec![("content", output.content.as_str()), ("reasoning", output.reasoning.as_str())]
        } else if let Some(own) = &view.own {
            vec![("content", own.message.content.as_str()), ("reasoning", own.message.reasoning.as_str())]
        } else {
            Vec::new()
        };
        for (name, text) in parts {
            evidence.extend(left(survey, name, text));
        }
    }
    let taken: Vec<Evidence> = survey
        .views
        .iter()
        .take(1)
        .map(|view| Evidence::new(view.output.place.clone(), view.output.raw.trim()))
        .collect();
    if !evidence.is_empty() {
        let parsed = survey.views.iter().any(|view| view.output.parsed);
        let by = if parsed { "the server" } else { "the parsers of the flags" };
        return check(Outcome::Fail, format!("{by} left markup in the text")).with(evidence);
    }
    if survey.views.iter().all(|view| !view.output.parsed && view.own.is_none()) {
        return check(Outcome::Unknown, "nobody took the output apart yet".to_owned()).with(taken);
    }
    check(Outcome::Pass, "no markup is left in the text".to_owned()).with(taken)
}

/// The markers of formats in a text.
fn left(survey: &Survey<'_>, name: &str, text: &str) -> Vec<Evidence> {
    let text = cut(text);
    let marks = survey.question.formats.marks().iter();
    let mut found: Vec<(usize, usize)> = marks.filter_map(|mark| Some((text.find(&**mark)?, mark.len()))).collect();
    found.sort_unstable();
    // One marker may be the beginning of another.
    found.dedup_by_key(|(at, _)| *at);
    found.into_iter().map(|(at, _)| Evidence::at(name, text, at, 60)).collect()
}

/// Did the server keep special tokens?
fn special_tokens(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::SpecialTokens, result, message);
    for view in &survey.views {
        if let Some(found) = &view.stripped {
            let evidence = Evidence::at(view.output.place.clone(), &view.output.raw, found.offset, found.text.len());
            let message = format!(
                "a call stands there without its marks: `{}` is missing; the server leaves special tokens out",
                found.mark
            );
            return check(Outcome::Fail, message).with([evidence]);
        }
    }
    let special = |mark: &&String| super::stripped::is_special(mark);
    let mut kept = survey.question.formats.marks().iter().filter(special);
    match kept.find(|mark| survey.views.iter().any(|view| view.output.raw.contains(mark.as_str()))) {
        Some(mark) => check(Outcome::Pass, format!("special tokens are kept: `{mark}` is there")),
        None if survey.best().is_some_and(|best| best.valid_calls > 0) => {
            check(Outcome::Pass, "the calls are whole".to_owned())
        }
        None => check(Outcome::Unknown, "nothing shows whether special tokens were kept".to_owned()),
    }
}

/// Are the markers spelled with the right characters?
fn code_points(survey: &Survey<'_>) -> Check {
    let check = |result, message: String| Check::new(Subject::CodePoints, result, message);
    let found: Vec<_> =
        survey.views.iter().flat_map(|view| view.look_alikes.iter().map(move |alike| (view.output, alike))).collect();
    let Some((_, first)) = found.first() else {
        return check(Outcome::Pass, "no text looks like a mark and is none".to_owned());
    };
    let message = format!("`{}` looks like `{}`: {}", first.found, first.mark, first.difference);
    let evidence = found
        .iter()
        .map(|(output, alike)| Evidence::at(output.place.clone(), &output.raw, alike.offset, alike.found.len()));
    check(Outcome::Fail, message).with(evidence)
}
