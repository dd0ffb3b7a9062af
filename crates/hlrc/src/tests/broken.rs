//! Each rule of the protocol is needed: without it, a program without races reads what was not last written, or never ends.
use super::litmus::turns;
use super::programs::generated_run;
use crate::rules::{RULES, Rule, without};
use crate::steps::ALL;
use std::panic;

#[test]
fn without_any_one_rule_some_program_fails() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let needless: Vec<Rule> = RULES.into_iter().filter(|rule| !is_missed(*rule)).collect();
    panic::set_hook(hook);
    assert_eq!(needless, [], "rules whose absence nothing shows");
}

/// Whether some program fails without the rule.
fn is_missed(rule: Rule) -> bool {
    let fails = |program: &dyn Fn()| panic::catch_unwind(panic::AssertUnwindSafe(|| without(rule, program))).is_err();
    let mut runs = (0..1000).flat_map(|seed| ALL.iter().map(move |step| (step, seed)));
    let generated = |step, seed| {
        generated_run(step, seed);
    };
    runs.any(|(step, seed)| fails(&|| generated(step, seed)) || fails(&|| drop(turns(step, seed, false))))
}
