//! What a chat template shows about a format besides its replies: how a turn begins, and what switches thinking.

use unspool_text::Prompter;

use super::draft::Draft;
use crate::template::beginnings;

/// Names of template arguments that switch thinking.
const SWITCHES: [&str; 3] = ["enable_thinking", "thinking", "thinking_mode"];

/// Adds the facts that the template shows.
pub(super) fn facts(prompter: &Prompter, draft: &mut Draft) {
    let Some(template) = prompter.template(true) else { return };
    let variables = template.variables();
    if let Some(beginning) = beginnings(prompter) {
        let opener = draft.opener().map(|opener| opener.trim().to_owned()).filter(|opener| !opener.is_empty());
        let header = match opener.as_ref().and_then(|opener| beginning.find(opener.as_str())) {
            Some(at) => {
                draft.opens = Some(true);
                &beginning[..at]
            }
            None => beginning.as_str(),
        };
        draft.turn = Some(header.trim().to_owned()).filter(|turn| !turn.is_empty());
    }
    if draft.thought.is_some() {
        draft.switches =
            SWITCHES.iter().filter(|name| variables.contains(**name)).map(|name| (*name).to_owned()).collect();
    }
}
