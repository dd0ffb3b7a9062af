//! Functions: 90 % at most 40 lines, none above 70 without a stated reason. Files: at most 500 lines.
use crate::tree::{File, Tree};
use anyhow::Context;
use syn::spanned::Spanned;
use syn::visit::Visit;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const FUNCTION_LINES_USUAL: usize = 40;
/// Put above a function that has to be longer, followed by the reason.
const REASON: &str = "LONG:";

struct Function {
    place: String,
    lines: usize,
    excused: bool,
}

pub(crate) fn check(tree: &Tree) -> anyhow::Result<Vec<String>> {
    let (mut problems, mut functions) = (Vec::new(), Vec::new());
    for file in tree.files.iter().filter(|f| is_source(&f.path)) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            problems.push(format!("{}: {lines} lines, at most {FILE_LINES_MAX}", file.path));
        }
        if file.path.ends_with(".rs") {
            functions.extend(rust_functions(file)?);
        } else if file.path.ends_with(".c") || file.path.ends_with(".h") {
            functions.extend(c_functions(file));
        }
    }
    let too_long = functions.iter().filter(|f| f.lines > FUNCTION_LINES_MAX && !f.excused);
    problems.extend(too_long.map(|f| {
        format!("{}: function of {} lines, at most {FUNCTION_LINES_MAX} without a `{REASON}` reason", f.place, f.lines)
    }));
    let long = functions.iter().filter(|f| f.lines > FUNCTION_LINES_USUAL).count();
    if long * 10 > functions.len() {
        problems
            .push(format!("{long} of {} functions exceed {FUNCTION_LINES_USUAL} lines, at most 10 %", functions.len()));
    }
    Ok(problems)
}

fn is_source(path: &str) -> bool {
    let vendored = path.contains("/vendor/");
    !vendored && [".rs", ".py", ".c", ".h", ".sh", ".js", ".css"].iter().any(|e| path.ends_with(e))
}

struct Collect<'a> {
    file: &'a File,
    found: Vec<Function>,
}

impl Collect<'_> {
    fn add(&mut self, name: &syn::Ident, whole: proc_macro2::Span, body: proc_macro2::Span) {
        let (from, to) = (name.span().start().line, body.end().line);
        let above = whole.start().line.saturating_sub(4)..from;
        let excused = self.file.text.lines().skip(above.start).take(above.len()).any(|l| l.contains(REASON));
        self.found.push(Function { place: format!("{}:{from} {name}", self.file.path), lines: to + 1 - from, excused });
    }
}

impl<'ast> Visit<'ast> for Collect<'_> {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.add(&f.sig.ident, f.span(), f.block.span());
        syn::visit::visit_item_fn(self, f);
    }
    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.add(&f.sig.ident, f.span(), f.block.span());
        syn::visit::visit_impl_item_fn(self, f);
    }
}

fn rust_functions(file: &File) -> anyhow::Result<Vec<Function>> {
    let parsed = syn::parse_file(&file.text).with_context(|| format!("parsing {}", file.path))?;
    let mut collect = Collect { file, found: Vec::new() };
    collect.visit_file(&parsed);
    Ok(collect.found)
}

/// C in this project opens a function's body with `{` at the end of a line that begins in column 0 (or alone in column
/// 0) and closes it with `}` in column 0.
fn c_functions(file: &File) -> Vec<Function> {
    let (mut found, mut open) = (Vec::new(), None);
    let lines: Vec<&str> = file.text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let starts = !line.starts_with([' ', '\t', '}', '/', '#', '*']) && line.trim_end().ends_with('{');
        if open.is_none() && starts && (line.contains('(') || line.trim() == "{") {
            open = Some(i);
        }
        if line.starts_with('}')
            && let Some(from) = open.take()
        {
            let excused = lines[from.saturating_sub(4)..from].iter().any(|l| l.contains(REASON));
            found.push(Function { place: format!("{}:{}", file.path, from + 1), lines: i + 1 - from, excused });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> File {
        File { path: path.to_owned(), text }
    }

    #[test]
    fn rust_and_c_functions_are_measured_from_name_to_brace() {
        let body = "    ;\n".repeat(70);
        let rust =
            rust_functions(&file("a.rs", format!("fn f()\n{{\n{body}}}\n/// LONG: a table\nfn g() {{\n{body}}}\n")))
                .unwrap();
        assert_eq!(rust.iter().map(|f| (f.lines, f.excused)).collect::<Vec<_>>(), [(73, false), (72, true)]);
        let c = c_functions(&file("a.c", format!("static int f(void)\n{{\n{body}}}\nint g(void) {{\n}}\n")));
        assert_eq!(c.iter().map(|f| f.lines).collect::<Vec<_>>(), [72, 2]);
    }
}
