//! Each rule of the protocol is needed: without it, a program without races reads what was not last written, or never ends.
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

/// Whether some generated program fails without the rule.
fn is_missed(rule: Rule) -> bool {
    let mut runs = (0..400).flat_map(|seed| ALL.iter().map(move |step| (step, seed)));
    runs.any(|(step, seed)| panic::catch_unwind(|| without(rule, || generated_run(step, seed))).is_err())
}
