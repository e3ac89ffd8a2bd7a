//! `kit::test`: the built-in files pass, and each fault is found.

use std::collections::BTreeMap;

use unspool::{Half, Registry};
use unspool_check::diagnose::Outcome;
use unspool_check::kit::{Effort, Step, Tested, test};

fn builtin() -> BTreeMap<String, String> {
    let registry = Registry::builtin();
    let mut out = BTreeMap::new();
    for half in [Half::Reasoning, Half::Tools] {
        for name in registry.names(half) {
            let (path, text) = registry.file(half, &name).expect("it is built in");
            out.insert(path, text);
        }
    }
    out
}

fn tried(text: &str) -> Tested {
    test(&Registry::builtin(), "mine.toml", text, Effort::default())
}

fn failed(tested: &Tested) -> Vec<Step> {
    tested.lines.iter().filter(|line| line.result == Outcome::Fail).map(|line| line.step).collect()
}

#[test]
fn the_built_in_files_pass() {
    let mut faults = Vec::new();
    // Those that read with the checkpoint's own description cannot be tried without one.
    for (path, text) in builtin().into_iter().filter(|(_, text)| !text.contains("\ncheckpoint = ")) {
        let tested = test(&Registry::builtin(), &path, &text, Effort { count: 4, seed: 3 });
        for line in tested.lines.iter().filter(|line| line.result == Outcome::Fail) {
            faults.push(format!("{path}: {}: {}\n  {}", line.step.words(), line.message, line.details.join("\n  ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const GOOD: &str = r#"names.tools = ["mine"]
[tools]
call = "<go>{name}:{json}</go>"
[[example]]
text = 'Well.<go>tide:{"harbour": "Looe"}</go>'
content = "Well."
calls = [{ name = "tide", arguments = { harbour = "Looe" } }]
"#;

#[test]
fn a_good_file_passes_and_each_fault_is_found() {
    let tested = tried(GOOD);
    assert_eq!(failed(&tested), [], "{tested:#?}");
    assert_eq!((tested.tools.as_slice(), tested.lines.len()), (&["mine".to_owned()][..], 7));
    assert!(tested.is_good());
    for (from, to, step) in [
        ("{json}", "{jsn}", Step::File),
        ("content = \"Well.\"", "content = \"Well!\"", Step::Examples),
        ("[[example]]\ntext", "[[example]]\nreasoning = \"x\"\ntext", Step::Examples),
    ] {
        let tested = tried(&GOOD.replace(from, to));
        assert_eq!(failed(&tested), [step], "{to}: {tested:#?}");
    }
    let idle = tried(&GOOD.replace("[tools]", "[tools]\ngroup = \"all\""));
    let words = idle.lines.iter().find(|line| line.step == Step::Words).expect("words are tried");
    assert_eq!(words.details, ["`tools.group` says what holds without it"]);
    let without = GOOD.split("[[example]]").next().expect("it has a beginning");
    assert_eq!(failed(&tried(without)), [Step::Examples], "a file without examples");
}
