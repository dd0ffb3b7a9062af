//! C++ names without what every instance of the library's templates repeats.

/// Longest name that keeps the arguments of its templates.
const CHARS_MAX: usize = 96;
/// Templates whose instances are what the library takes if nobody says anything.
const DEFAULTS: &[&str] = &[
    "std::allocator",
    "std::char_traits",
    "std::default_delete",
    "std::less",
    "std::hash",
    "std::equal_to",
    "std::deque",
];
/// Templates whose arguments say nothing to the programmer.
const INNARDS: &[&str] = &["std::thread::_State_impl", "std::thread::_Invoker", "std::_Sp_counted_ptr_inplace"];
/// How deep templates lie in each other at most.
const DEPTH_MAX: usize = 64;

/// The name with default arguments of the library's templates left out and its own aliases used: `std::vector<double>` for
/// `std::vector<double, std::allocator<double> >`. Arguments of long names become `...`, innermost first.
pub(super) fn shorten(name: &str) -> String {
    if !name.contains('<') {
        return name.replace("std::__cxx11::", "std::");
    }
    let Some(parts) = parse(name, 0).filter(|(_, rest)| rest.is_empty()).map(|(parts, _)| parts) else {
        return name.to_owned();
    };
    let depth = depth_of(&parts);
    (0..=depth)
        .rev()
        .map(|levels| written(&parts, levels))
        .find(|s| s.chars().count() <= CHARS_MAX)
        .unwrap_or_else(|| written(&parts, 0))
}

/// A piece of a name: text, or the arguments of the template before it.
#[derive(Debug)]
enum Part {
    Text(String),
    Arguments(Vec<Vec<Part>>),
}

/// Parts up to a comma or bracket that belongs to somebody further out, and the rest.
fn parse(text: &str, depth: usize) -> Option<(Vec<Part>, &str)> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
    let mut round = 0u32;
    while let Some(c) = rest.chars().next() {
        if let Some(operator) = operator_at(rest, &plain) {
            plain.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        match c {
            '<' => {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                let (arguments, after) = arguments(&rest[1..], depth)?;
                parts.push(Part::Arguments(arguments));
                rest = after;
                continue;
            }
            '(' | '[' | '{' => round += 1,
            ')' | ']' | '}' => round = round.checked_sub(1)?,
            ',' | '>' if round == 0 && depth > 0 && !plain.ends_with('-') => break,
            _ => {}
        }
        plain.push(c);
        rest = &rest[c.len_utf8()..];
    }
    parts.push(Part::Text(plain));
    Some((parts, rest))
}

fn arguments(mut rest: &str, depth: usize) -> Option<(Vec<Vec<Part>>, &str)> {
    let mut all = Vec::new();
    loop {
        let (one, after) = parse(rest.trim_start(), depth + 1)?;
        all.push(one);
        match after.chars().next()? {
            ',' => rest = &after[1..],
            '>' => return Some((all, &after[1..])),
            _ => return None,
        }
    }
}

/// `operator<` and its like, whose brackets are no template's.
fn operator_at<'t>(rest: &'t str, before: &str) -> Option<&'t str> {
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let symbols = ["operator<=>", "operator<<=", "operator>>=", "operator->*", "operator<<", "operator>>"];
    let more = ["operator<=", "operator>=", "operator->", "operator<", "operator>"];
    symbols.iter().chain(&more).find(|o| rest.starts_with(**o)).map(|o| &rest[..o.len()])
}

fn depth_of(parts: &[Part]) -> usize {
    let below = parts.iter().map(|p| match p {
        Part::Text(_) => 0,
        Part::Arguments(all) => 1 + all.iter().map(|a| depth_of(a)).max().unwrap_or(0),
    });
    below.max().unwrap_or(0)
}

/// Whether an argument is an instance of a template that the library takes by default.
fn is_default(argument: &[Part]) -> bool {
    matches!(argument, [Part::Text(template), Part::Arguments(_), ..] if DEFAULTS.contains(&template.trim()))
}

/// The name with arguments down to that many levels.
fn written(parts: &[Part], levels: usize) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(&text.replace("std::__cxx11::", "std::")),
            Part::Arguments(_) if levels == 0 || INNARDS.iter().any(|i| out.ends_with(i)) => out.push_str("<...>"),
            Part::Arguments(all) => {
                let kept = 1 + all.iter().skip(1).rposition(|a| !is_default(a)).map_or(0, |last| last + 1);
                let shown: Vec<String> = all.iter().take(kept).map(|a| written(a, levels - 1)).collect();
                let alias = ["basic_string", "basic_string_view"].iter().find(|t| out.ends_with(**t));
                match alias.filter(|_| shown == ["char"]) {
                    Some(template) => {
                        out.truncate(out.len() - template.len());
                        out.push_str(&template["basic_".len()..]);
                    }
                    None => out.push_str(&format!("<{}>", shown.join(", "))),
                }
            }
        }
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn default_arguments_go_and_others_stay() {
        for (long, short) in [
            ("main", "main"),
            ("std::vector<double, std::allocator<double> >::resize", "std::vector<double>::resize"),
            (
                "std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > >",
                "std::map<int, long>",
            ),
            (
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append",
                "std::string::append",
            ),
            ("grid<3, std::vector<int, std::allocator<int> > >::at", "grid<3, std::vector<int>>::at"),
            ("holder<std::allocator<int> >", "holder<std::allocator<int>>"),
            ("operator<< <int>", "operator<< <int>"),
            ("a::operator< <int>", "a::operator< <int>"),
            ("main::{lambda(int, long)#1}::operator()", "main::{lambda(int, long)#1}::operator()"),
            ("unfinished<int", "unfinished<int"),
            (
                "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run",
                "std::thread::_State_impl<...>::_M_run",
            ),
        ] {
            assert_eq!(shorten(long), short);
        }
    }

    #[test]
    fn long_names_lose_their_innermost_arguments() {
        let long = format!("a<{}>::f", (0..20).map(|i| format!("b<c{i}>")).collect::<Vec<_>>().join(", "));
        assert_eq!(shorten(&long), "a<...>::f");
        let deep = "x<".repeat(1000) + &">".repeat(1000);
        assert_eq!(shorten(&deep), deep, "what is too deep stays as it is");
    }
}
