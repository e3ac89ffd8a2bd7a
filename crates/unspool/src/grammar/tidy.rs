//! Cleans up the rules of a grammar: removes what no text can match, and inlines rules that are used once.

use super::limit::Budget;
use super::node::Node;
use crate::error::Error;

/// A rule that is used once is inlined, unless it is this deep.
const DEEPEST: usize = 24;

/// The root and the rules that it uses.
pub(super) fn tidied(root: Node, rules: Vec<Node>, budget: &Budget<'_>) -> Result<(Node, Vec<Node>), Error> {
    let order = Order::of(&root, &rules);
    let possible = possible(&rules, &order, budget)?;
    let mut tidy = Tidy {
        possible,
        said: order.said,
        made: rules.iter().map(|_| Made::Not).collect(),
        places: vec![None; rules.len()],
        kept: 0,
    };
    let mut rules: Vec<Option<Node>> = rules.into_iter().map(Some).collect();
    for at in order.rules {
        let node = rules.get_mut(at).and_then(Option::take).and_then(|node| tidy.node(node));
        let node = node.unwrap_or_else(|| Node::Choice(Vec::new()));
        tidy.made[at] = Made::Node(height(&node), node);
    }
    let root = tidy.node(root).unwrap_or_else(|| Node::Choice(Vec::new()));
    Ok((root, tidy.into_rules()))
}

/// The rules that a root uses, each after those that it uses itself unless they are recursive; and the number of uses
/// of each.
pub(super) struct Order {
    pub(super) rules: Vec<usize>,
    said: Vec<usize>,
}

impl Order {
    pub(super) fn of(root: &Node, rules: &[Node]) -> Self {
        let below = |node: &Node| {
            let mut all = Vec::new();
            node.each_rule(&mut |at| all.push(at));
            all
        };
        let mut order = Self { rules: Vec::new(), said: vec![0; rules.len()] };
        let mut open = vec![(None, below(root).into_iter())];
        // Rules may nest without limit, so this uses an explicit stack.
        while let Some((at, needed)) = open.last_mut() {
            match needed.next() {
                Some(next) => {
                    let Some(said) = order.said.get_mut(next) else { continue };
                    *said += 1;
                    if *said == 1
                        && let Some(rule) = rules.get(next)
                    {
                        open.push((Some(next), below(rule).into_iter()));
                    }
                }
                None => {
                    order.rules.extend(*at);
                    open.pop();
                }
            }
        }
        order
    }
}

/// For each rule, whether some text matches.
fn possible(rules: &[Node], order: &Order, budget: &Budget<'_>) -> Result<Vec<bool>, Error> {
    let mut possible = vec![false; rules.len()];
    loop {
        let mut is_same = true;
        budget.step(order.rules.len())?;
        for at in &order.rules {
            if !possible[*at] && !rules[*at].is_impossible(&|rule| !possible[rule]) {
                possible[*at] = true;
                is_same = false;
            }
        }
        if is_same {
            return Ok(possible);
        }
    }
}

enum Made {
    Not,
    /// With its height.
    Node(usize, Node),
    /// It was inlined.
    Placed,
}

struct Tidy {
    possible: Vec<bool>,
    said: Vec<usize>,
    made: Vec<Made>,
    /// New indices of the remaining rules.
    places: Vec<Option<usize>>,
    kept: usize,
}

impl Tidy {
    /// A cleaned-up node; `None`: no text matches.
    fn node(&mut self, node: Node) -> Option<Node> {
        Some(match node {
            Node::Rule(at) => return self.rule(at),
            Node::Sequence(all) => {
                let all: Option<Vec<Node>> = all.into_iter().map(|node| self.node(node)).collect();
                Node::sequence(all?)
            }
            Node::Choice(all) => {
                let all: Vec<Node> = all.into_iter().filter_map(|node| self.node(node)).collect();
                if all.is_empty() {
                    return None;
                }
                Node::choice(all)
            }
            Node::Repeat { of, least, most } => match self.node(*of) {
                Some(of) if least == 0 && most == Some(1) => of.optional(),
                Some(of) => Node::Repeat { of: Box::new(of), least, most },
                None if least == 0 => Node::nothing(),
                None => return None,
            },
            Node::Counted(both) => {
                let [counted, any] = *both;
                Node::Counted(Box::new([self.node(counted)?, self.node(any)?]))
            }
            Node::List { of, between } => Node::List { of: Box::new(self.node(*of)?), between },
            Node::Free { without, rest, trigger, then, once, ends } => match self.node(*then) {
                Some(then) => Node::Free { without, rest, trigger, then: Box::new(then), once, ends },
                None => Node::Rest { without: rest.and([trigger]) },
            },
            node => node,
        })
    }

    fn rule(&mut self, at: usize) -> Option<Node> {
        if !*self.possible.get(at)? {
            return None;
        }
        if let Made::Node(height, node) = &mut self.made[at] {
            if self.said[at] == 1 && *height <= DEEPEST {
                let node = std::mem::replace(node, Node::nothing());
                self.made[at] = Made::Placed;
                return Some(node);
            }
            // A rule reference or a literal is not worth inlining further.
            if matches!(node, Node::Rule(_) | Node::Literal(_)) {
                return Some(node.clone());
            }
        }
        let kept = &mut self.kept;
        let place = self.places[at].get_or_insert_with(|| {
            *kept += 1;
            *kept - 1
        });
        Some(Node::Rule(*place))
    }

    /// The remaining rules, by their new indices.
    fn into_rules(self) -> Vec<Node> {
        let mut out = vec![Node::nothing(); self.kept];
        for (place, made) in self.places.into_iter().zip(self.made) {
            if let (Some(place), Made::Node(_, node)) = (place, made) {
                out[place] = node;
            }
        }
        out
    }
}

fn height(node: &Node) -> usize {
    1 + node.parts().iter().map(height).max().unwrap_or(0)
}
