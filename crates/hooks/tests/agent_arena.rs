//! Small objects that a plan groups: they lie where the plan says and behave as the allocator's own.
mod support;

use homenode_base::agentplan::{AgentPlan, Line};
use homenode_base::agentresult::{self, Outcome};
use homenode_base::stackhash::{Frame, stack_hash};
use homenode_hooks::agent;
use std::path::Path;
use std::process::Command;
use support::build::COMPILERS;
use support::preload::{build_id, plain, planned, text};

/// Return addresses, as linked, of the calls that lead to an allocation in `hot` or `cold`: the call in that function,
/// the call in `main`, and then the C library's beginning, which a program recorded at a big allocation shows.
fn small_stack(program: &Path, function: &str, outer: &[Frame]) -> u64 {
    let wanted = if function == "hot" { "malloc@plt" } else { "calloc@plt" };
    let out = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().expect("binutils");
    let text = String::from_utf8(out.stdout).unwrap();
    let returns = |of: &str, to: &str| {
        let body = text.split(&format!("<{of}>:\n")).nth(1).expect("the function").split("\n\n").next().unwrap();
        let lines: Vec<&str> = body.lines().collect();
        let calls = lines.windows(2).filter(|w| w[0].contains("call") && w[0].contains(&format!("<{to}>")));
        calls.map(|w| u64::from_str_radix(w[1].trim().split(':').next().unwrap(), 16).unwrap()).collect::<Vec<_>>()
    };
    let mut build = [0; 8];
    let id = build_id(program.to_str().unwrap());
    build.iter_mut().zip(id.as_bytes().chunks(2)).for_each(|(b, d)| {
        *b = u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap();
    });
    let frame = |returns_to| Frame { build, returns_to };
    let in_main = returns("main", function);
    let mut frames = vec![frame(returns(function, wanted)[0]), frame(in_main[0])];
    frames.extend_from_slice(outer);
    stack_hash(&frames)
}

#[test]
fn grouped_objects_lie_on_their_node_and_behave() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let program = plain(dir.path(), compiler, "arena.c", &["-fno-optimize-sibling-calls"]);
        let outer = support::preload::frames_above_main(&program, dir.path(), compiler);
        let build_id = build_id(program.to_str().unwrap());
        let lines = ["hot", "cold"]
            .map(|f| Line::Arena {
                build_id: build_id.clone(),
                stack: small_stack(&program, f, &outer),
                path: vec![],
                size: 56,
                node: 0,
            })
            .to_vec();
        for n in 0..=2 {
            let plan = AgentPlan { lines: lines[..n].to_vec(), ..AgentPlan::default() };
            let result = dir.path().join(format!("result-{compiler}-{n}"));
            let output = planned(&program, &plan, dir.path()).env(agent::RESULT_ENV, &result).output().unwrap();
            assert!(output.stderr.is_empty(), "{output:?}");
            for line in text(&output).lines() {
                let hot = line.starts_with("hot");
                let placed = if hot { n >= 1 } else { n == 2 };
                assert!(line.ends_with(if placed { " p0*1" } else { " d*1" }), "{compiler} {n}: {line}");
            }
            let all = agentresult::parse(&std::fs::read_to_string(&result).unwrap()).unwrap();
            for item in &all[0].items {
                let Outcome::Matched { times, bytes } = item.outcome else { panic!("{item:?}") };
                assert!(times >= 60_000 && bytes == times * 56, "{item:?}");
            }
        }
    }
}
