use std::io::Read;
use unspool::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let opt = |s: &String| if s == "-" { None } else { Some(s.clone()) };
    let setup = Setup { reasoning_parser: opt(&a[1]), tool_parser: opt(&a[2]), ..Setup::default() };
    let pair = Registry::builtin().pair(&setup).unwrap();
    let req = serde_json::json!({"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}]});
    let r = Request::from_openai(&req).unwrap();
    let mut p = pair.parser(&r, Prompt::Unknown).unwrap();
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let mut sink = |e: Event<'_>| println!("{e:?}");
    let n: usize = a.get(3).map_or(1 << 30, |n| n.parse().unwrap());
    let cs: Vec<char> = text.chars().collect();
    for c in cs.chunks(n) {
        let s: String = c.iter().collect();
        println!("> {s:?}");
        p.push(Delta::text(&s), &mut sink);
    }
    println!("{:?}", p.finish(None, &mut sink));
}
