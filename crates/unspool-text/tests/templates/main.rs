//! Chat templates of many models, rendered here and by Python's Jinja2: every byte must be the same. The templates and Jinja2
//! are fetched by `.ci/fetch-templates`; without them the test says that it is skipped.
#![allow(clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use unspool_text::ChatTemplate;

/// What `strftime_now` tells on both sides.
const MOMENT: &str = "2026-03-04T15:06:07";
/// Templates that cannot come out the same, and why.
const DIFFERENT: [(&str, &str); 1] = [(
    "llama-cpp-python/meetkai-functionary-medium-v3.1.jinja",
    "adds plain text to text marked `safe`, which Python then escapes for HTML, quotes in the JSON of tools included",
)];
/// So many templates must come out the same at least, of those that Jinja2 itself renders.
const LEAST: usize = 81;

fn folder() -> PathBuf {
    let fetched = std::env::var_os("UNSPOOL_TEMPLATES").map(PathBuf::from);
    fetched.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"))
}

fn templates(folder: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for source in ["vllm", "llama-cpp-python"] {
        for entry in std::fs::read_dir(folder.join(source)).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(entry.path()).expect("a template can be read");
            out.insert(format!("{source}/{}", entry.file_name().to_string_lossy()), text);
        }
    }
    out
}

fn reference(folder: &Path, job: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates/reference.py");
    let mut python = Command::new(folder.join("python/bin/python"))
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut input = python.stdin.take().expect("the input is a pipe");
    let text = job.to_string();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = python.wait_with_output().expect("Python ends");
    writer.join().expect("the writer does not panic").expect("Python reads its input");
    assert!(output.status.success(), "the reference fails");
    serde_json::from_slice(&output.stdout).expect("the reference writes JSON")
}

/// The first difference of two texts, with what stands around it.
fn difference(own: &str, theirs: &str) -> String {
    let same = own.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let skipped = text.char_indices().take_while(|(at, _)| at + 30 < same).count();
        text.chars().skip(skipped).take(90).collect::<String>()
    };
    format!("\n      here:   {:?}\n      jinja2: {:?}", around(own), around(theirs))
}

/// Whether an error of Python's is one of type, not a refusal by the template itself.
fn is_lenient(error: &Value) -> bool {
    error.as_str().is_some_and(|error| error.starts_with("TypeError"))
}

/// Compares one template; gives how many contexts Jinja2 renders, and what differs.
fn compare(template: &str, contexts: &Map<String, Value>, expected: &Value) -> (usize, Vec<String>) {
    let (mut count, mut faults) = (0, Vec::new());
    let compiled = ChatTemplate::at_moment(template, MOMENT);
    for (which, context) in contexts {
        let context = context.as_object().expect("a context is an object");
        let own = compiled.as_ref().map_err(Clone::clone).and_then(|template| template.render(context));
        match (own, expected[which]["text"].as_str()) {
            (Ok(own), Some(theirs)) => {
                count += 1;
                if own != theirs {
                    faults.push(format!("{which}: {}", difference(&own, theirs)));
                }
            }
            (Err(error), Some(_)) => {
                count += 1;
                faults.push(format!("{which}: {error}"));
            }
            // Where Python loops over nothing it fails; here such a template goes on.
            (Ok(_), None) if is_lenient(&expected[which]["error"]) => {}
            (Ok(_), None) => faults.push(format!("{which}: renders, but Jinja2 says {}", expected[which]["error"])),
            (Err(_), None) => {}
        }
    }
    (count, faults)
}

#[test]
fn templates_of_many_models_come_out_as_in_python() {
    let folder = folder();
    let templates = templates(&folder);
    if templates.is_empty() {
        assert!(std::env::var_os("UNSPOOL_REQUIRE_TEMPLATES").is_none(), "no templates in {}", folder.display());
        eprintln!("!!! SKIPPED: no templates in {}; `.ci/fetch-templates` fetches them", folder.display());
        return;
    }
    let contexts: Map<String, Value> =
        serde_json::from_str(include_str!("contexts.json")).expect("the contexts are JSON");
    let job = json!({"templates": templates, "contexts": contexts, "moment": MOMENT});
    let expected = reference(&folder, &job);
    let (mut renders, mut same, mut texts) = (0, 0, 0);
    for (name, template) in &templates {
        let (count, faults) = compare(template, &contexts, &expected[name]);
        texts += count;
        renders += usize::from(count > 0);
        same += usize::from(count > 0 && faults.is_empty());
        if let Some((_, why)) = DIFFERENT.iter().find(|(known, _)| known == name) {
            assert!(!faults.is_empty(), "{name} is the same by now; strike it off the list");
            eprintln!("{name}: is known to differ: it {why}");
        } else if !faults.is_empty() {
            eprintln!("{name}:\n    {}", faults.join("\n    "));
        }
    }
    let total = templates.len();
    eprintln!("{total} templates; Jinja2 renders {renders} ({texts} texts), of which {same} are the same here");
    assert!(same >= LEAST && same + DIFFERENT.len() == renders, "{} of {renders} templates differ", renders - same);
}
