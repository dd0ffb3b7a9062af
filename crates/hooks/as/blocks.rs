//! Blocks of references: calls of the entry points in code without jumps, replaced by stores into the thread's ring.
//!
//! Up to [`REFS_MAX`] calls of `__tsan_readN` and `__tsan_writeN` between two places where control may come or go make a *block*.
//! Its first call asks whether the batch has room and stores the block's header, each stores its address, the last one moves
//! the ring's cursor. What the references are (place in the code, size, operation) is said once, in section `hn_blocks`:
//! eight bytes of header (ring layout, `W0_BLOCK`) and then for each reference eight bytes: four of distance from there to the
//! last byte of its code, one of length of its code, one of size code, one of operation, one of zero. A constructor shows the
//! section to the runtime, which numbers the blocks.
//!
//! The code of a reference destroys nothing that a call would keep and stands where the call stood, so what the compiler has
//! decided on registers, stack and unwinding holds. `%r10` (ring) and `%r11` (cursor) are taken to be lost between two
//! references where the program's code names them.
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// Most references of a block: with its header 128 bytes, which the limit of a ring leaves free.
const REFS_MAX: usize = 15;
/// Bit of a header (ring layout, `W0_BLOCK`).
const BLOCK: u64 = 1 << 54;
/// Where the number of references stands in a header (`W0_KIND_SHIFT`).
const COUNT_SHIFT: u32 = 56;
/// Where the bits of the references that write stand in a header (`BLOCK_WRITES_SHIFT`).
const WRITES_SHIFT: u32 = 32;
/// Loads the thread's ring; `%r10` is free. In code that may come into a library.
const RING_ANYWHERE: &str = "\tmovq\thnrt_ring@gottpoff(%rip), %r10\n\tmovq\t%fs:(%r10), %r10\n";
/// The same in code for executables, where the linker knows how far the variable is from the thread pointer.
const RING_IN_EXECUTABLE: &str = "\tmovq\t%fs:hnrt_ring@tpoff, %r10\n";
/// Loads the cursor of the ring (`RING_OFF_CURSOR`).
const CURSOR: &str = "\tmovq\t64(%r10), %r11\n";
/// Compares the cursor with the ring's limit (`RING_OFF_LIMIT`).
const ROOM: &str = "\tcmpq\t88(%r10), %r11\n";

/// The assembly language for x86-64 in `source`, in the syntax that gcc and clang write, with blocks; `None` if nothing is to
/// be replaced. `executable`: it will not come into a library.
pub(crate) fn filter(source: &str, executable: bool) -> Option<String> {
    if !source.contains("__tsan_") || source.contains(".intel_syntax") {
        return None;
    }
    let ring = if executable { RING_IN_EXECUTABLE } else { RING_ANYWHERE };
    let mut filter = Filter { ring, jumped: jumped_to(source), ..Filter::default() };
    source.lines().for_each(|line| filter.line(line));
    filter.end_block();
    filter.finish()
}

/// A call that is to be replaced.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Line of the output that it is.
    at: usize,
    /// Size code: binary logarithm of the bytes.
    code: u32,
    writes: bool,
}

#[derive(Default)]
struct Filter<'a> {
    /// Instructions that load the thread's ring.
    ring: &'static str,
    /// Local labels that something other than debugging information refers to.
    jumped: HashSet<&'a str>,
    out: Vec<Cow<'a, str>>,
    /// Flags of the section of blocks for the section of code that the lines are in; `None` where nothing is replaced.
    section: Option<String>,
    calls: Vec<Call>,
    /// What the blocks so far are.
    blocks: String,
    number: usize,
}

impl<'a> Filter<'a> {
    fn line(&mut self, line: &'a str) {
        let text = line.trim_start();
        if let Some((code, writes)) = reference(text).filter(|_| self.section.is_some()) {
            self.calls.push(Call { at: self.out.len(), code, writes });
            self.out.push(Cow::Borrowed(line));
            if self.calls.len() == REFS_MAX {
                self.end_block();
            }
            return;
        }
        if self.ends(text) {
            self.end_block();
        }
        if let Some(section) = section(text) {
            self.section = section;
        }
        self.out.push(Cow::Borrowed(line));
    }

    /// Whether control may come or go at a line, or it cannot be told.
    fn ends(&self, text: &str) -> bool {
        if let Some(name) = label(text) {
            return !name.starts_with(".L") || self.jumped.contains(name) || text.trim_end().len() > name.len() + 1;
        }
        match text.as_bytes().first() {
            None => false,
            Some(b'#') => text.starts_with("#APP") || text.starts_with("#NO_APP"),
            Some(b'.') => {
                let quiet = [".loc", ".cfi_", ".p2align"].iter().any(|quiet| text.starts_with(quiet));
                !quiet || text.starts_with(".cfi_endproc")
            }
            Some(_) => leaves(text),
        }
    }

    /// Replaces the calls that were collected.
    fn end_block(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let Some(section) = self.section.as_ref().filter(|_| !calls.is_empty()) else { return };
        let writes = calls.iter().enumerate().fold(0, |bits, (i, call)| bits | u64::from(call.writes) << i);
        let header = BLOCK | (calls.len() as u64) << COUNT_SHIFT | writes << WRITES_SHIFT;
        let n = self.number;
        self.number += 1;
        let _ = write!(self.blocks, "\t.section\thn_blocks,{section}\n\t.balign\t8\n.Lhnd{n}:\n\t.quad\t{header:#x}\n");
        let load_ring = self.ring;
        let (mut ring, mut cursor, mut before) = (true, true, calls[0].at);
        for (i, call) in calls.iter().enumerate() {
            for line in &self.out[before + 1..call.at.max(before + 1)] {
                ring &= !line.contains("%r10");
                cursor &= !line.contains("%r11");
            }
            let last = i + 1 == calls.len();
            let mut code = format!(".Lhns{n}_{i}:\n");
            if i == 0 {
                let header = format!("\tmovq\t.Lhnd{n}(%rip), %rdx\n\tmovq\t%rdx, (%r11)\n");
                let _ = write!(
                    code,
                    "{load_ring}{CURSOR}{ROOM}\tjbe\t.Lhnr{n}\n\tcall\t__homenode_room@PLT\n.Lhnr{n}:\n{header}"
                );
            } else {
                let ring_needed = last || !cursor;
                code.push_str(if ring_needed && !ring { load_ring } else { "" });
                code.push_str(if cursor { "" } else { CURSOR });
                (ring, cursor) = (ring || ring_needed, true);
            }
            let _ = write!(code, "\tmovq\t%rdi, {}(%r11)", 8 * (i + 1));
            if last {
                let bytes = (8 * (calls.len() + 1)).next_multiple_of(16);
                let _ = write!(code, "\n\taddq\t${bytes}, %r11\n\tmovq\t%r11, 64(%r10)");
            }
            let _ = write!(code, "\n.Lhne{n}_{i}:");
            self.out[call.at] = Cow::Owned(code);
            let (size, op) = (call.code, u32::from(call.writes));
            let length = format!(".Lhne{n}_{i}-.Lhns{n}_{i}");
            let _ = write!(self.blocks, "\t.long\t.Lhne{n}_{i}-1-.\n\t.byte\t{length}, {size}, {op}, 0\n");
            before = call.at;
        }
    }

    /// The text with what its blocks are, and the constructor.
    fn finish(self) -> Option<String> {
        if self.number == 0 {
            return None;
        }
        let mut text =
            String::with_capacity(self.out.iter().map(|l| l.len() + 1).sum::<usize>() + self.blocks.len() + 1024);
        self.out.iter().for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
        text.push_str(&self.blocks);
        text.push_str(CONSTRUCTOR);
        Some(text)
    }
}

/// Shows all blocks of the executable or library to the runtime, before other constructors.
const CONSTRUCTOR: &str = "\t.text
	.p2align 4
.Lhnregister:
	leaq	__start_hn_blocks(%rip), %rdi
	leaq	__stop_hn_blocks(%rip), %rsi
	jmp	__homenode_blocks@PLT
	.hidden	__start_hn_blocks
	.hidden	__stop_hn_blocks
	.section	.init_array.00001,\"aw\",@init_array
	.balign	8
	.quad	.Lhnregister
";

/// Size code of a call of an entry point that is replaced, and whether it writes.
fn reference(text: &str) -> Option<(u32, bool)> {
    let name = text.strip_prefix("callq").or_else(|| text.strip_prefix("call"))?.trim();
    let name = name.strip_suffix("@PLT").unwrap_or(name).strip_prefix("__tsan_")?;
    let name = name.strip_prefix("unaligned_").unwrap_or(name);
    // A volatile read may be busy waiting, which the runtime has to see.
    let (bytes, writes) = match name.strip_prefix("volatile_").unwrap_or(name).strip_prefix("write") {
        Some(bytes) => (bytes, true),
        None => (name.strip_prefix("read")?, false),
    };
    let code = ["1", "2", "4", "8", "16"].iter().position(|b| *b == bytes)?;
    Some((code as u32, writes))
}

/// The label that a line begins with.
fn label(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')))?;
    (end > 0 && text[end..].starts_with(':')).then(|| &text[..end])
}

/// Whether an instruction is or may be one that does not go on with the next.
fn leaves(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let name = &text[..end];
    let prefix = ["rep", "repz", "repnz", "repne", "repe", "notrack", "bnd", "data16", "cs"].contains(&name);
    let ways =
        ["j", "call", "ret", "loop", "lret", "ljmp", "lcall", "sys", "ud", "hlt", "int", "iret", "xbegin", "xabort"];
    prefix && ["ret", "jmp", "call"].iter().any(|way| text.contains(way))
        || ways.iter().any(|way| name.starts_with(way))
}

/// If the line changes the section: flags of the section of blocks for code there, or `None` where there is none or it is not known.
fn section(text: &str) -> Option<Option<String>> {
    let plain = || Some("\"aw\",@progbits".to_owned());
    let mut words = text.splitn(2, char::is_whitespace);
    let arguments = match words.next()? {
        ".text" => return Some(plain()),
        ".data" | ".bss" | ".previous" | ".popsection" | ".pushsection" | ".subsection" => return Some(None),
        ".section" => words.next()?,
        _ => return None,
    };
    let mut arguments = arguments.split(',').map(str::trim);
    let name = arguments.next()?.trim_matches('"');
    let flags = arguments.next().unwrap_or_default();
    if !(name == ".text" || name.starts_with(".text.")) {
        return Some(None);
    }
    let group = arguments.nth(1);
    Some(match (flags.contains('G'), group) {
        (false, _) => plain(),
        // What is known of a function must be left out where the function is.
        (true, Some(group)) => Some(format!("\"awG\",@progbits,{group},comdat")),
        (true, None) => None,
    })
}

/// Local labels that lines other than those of debugging information name, besides where they stand.
fn jumped_to(source: &str) -> HashSet<&str> {
    let (mut found, mut debugging) = (HashSet::new(), false);
    for line in source.lines() {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix(".section") {
            debugging = rest.trim_start().trim_start_matches('"').starts_with(".debug");
        } else if text.starts_with(".text") || text.starts_with(".data") || text.starts_with(".bss") {
            debugging = false;
        }
        if debugging || [".loc", ".cfi_", "#", ".file"].iter().any(|quiet| text.starts_with(quiet)) {
            continue;
        }
        let text = label(text).map_or(text, |name| &text[name.len() + 1..]);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        found.extend(text.split(|c| !is_part(c)).filter(|word| word.starts_with(".L")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands where the calls stood: for each reference the offset of its address, and whether the cursor was loaded again for it;
    /// `|` where a block begins.
    fn shape(source: &str) -> String {
        let mut shape = String::new();
        for line in filter(source, false).unwrap_or_default().lines() {
            match line.trim() {
                "movq\t64(%r10), %r11" => shape.push('c'),
                "movq\t%fs:(%r10), %r10" => shape.push('r'),
                line if line.starts_with(".Lhns") && line.ends_with("_0:") => shape.push('|'),
                line => shape
                    .push_str(line.strip_prefix("movq\t%rdi, ").and_then(|l| l.strip_suffix("(%r11)")).unwrap_or("")),
            }
        }
        shape
    }

    fn text(body: &str) -> String {
        format!("\t.text\nf:\n{body}\tret\n")
    }

    #[test]
    fn calls_without_a_jump_between_are_one_block() {
        let read = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read8\n";
        let write = "\tleaq\t8(%rbx), %rdi\n\tcallq\t__tsan_unaligned_write4@PLT\n";
        assert_eq!(shape(&text(&[read, write, read].concat())), "|rc81624");
        assert_eq!(shape(&text(&[read, "\tjne\t.L2\n", write].concat())), "|rc8|rc8");
        assert_eq!(shape(&text(&[read, "\tcall\tg\n", write].concat())), "|rc8|rc8");
        assert_eq!(shape(&text(&[read, "\tnotrack jmp\t*%rax\n", write].concat())), "|rc8|rc8");
        assert_eq!(shape(&text(&[read, "#APP\n\tnop\n#NO_APP\n", write].concat())), "|rc8|rc8");
        assert_eq!(shape(&text(&[read, "\t.loc 1 2 3\n\t.cfi_def_cfa_offset 16\n.LVL1:\n", write].concat())), "|rc816");
        let jumped = [read, ".L2:\n", write, "\tjmp\t.L2\n"].concat();
        assert_eq!(shape(&text(&jumped)), "|rc8|rc8", "somebody jumps there");
        assert_eq!(
            shape(&text(&read.repeat(17))),
            format!("|rc{}|rc816", (1..=15).map(|i| (8 * i).to_string()).collect::<String>())
        );
    }

    #[test]
    fn registers_that_the_code_uses_are_loaded_again() {
        let read = "\tcall\t__tsan_read8\n";
        let with = |between: &str| shape(&text(&[read, between, read, read].concat()));
        assert_eq!(with("\tmovl\t%eax, %r11d\n"), "|rc8c1624");
        assert_eq!(with("\tmovl\t%eax, %r10d\n"), "|rc816r24", "the ring is needed at the end alone");
        assert_eq!(with("\taddq\t%r10, %r11\n"), "|rc8rc1624");
    }

    #[test]
    fn only_what_is_understood_is_replaced() {
        for body in [
            "\tcall\t__tsan_volatile_read8\n",
            "\tcall\t__tsan_read_range\n",
            "\tcall\t*__tsan_read8@GOTPCREL(%rip)\n",
            "\tjmp\t__tsan_write8\n",
            "\tcall\t__tsan_atomic32_load\n",
            "\tcall\t__tsan_func_entry\n",
            "\tcall\t__tsan_read32\n",
        ] {
            assert_eq!(filter(&text(body), true), None, "{body}");
        }
        assert!(filter(&text("\tcall\t__tsan_volatile_write8\n"), true).is_some());
        let read = "\tcall\t__tsan_read8\n";
        assert_eq!(filter(&format!("\t.intel_syntax noprefix\n{}", text(read)), true), None);
        assert_eq!(filter(&format!("\t.section\t.mine,\"ax\"\nf:\n{read}"), true), None, "who knows what links it");
        assert_eq!(filter(&format!("\t.text\n\t.previous\nf:\n{read}"), true), None);
    }

    #[test]
    fn blocks_of_functions_that_may_be_left_out_are_left_out_with_them() {
        let text = "\t.section\t.text._Z1fv,\"axG\",@progbits,_Z1fv,comdat\nf:\n\tcall\t__tsan_read8\n\tret\n";
        assert!(filter(text, true).unwrap().contains("hn_blocks,\"awG\",@progbits,_Z1fv,comdat\n"));
    }

    #[test]
    fn the_ring_layout_says_the_same() {
        use homenode_base::ring;
        assert_eq!((BLOCK, REFS_MAX as u64), (ring::W0_BLOCK, ring::BLOCK_REFS_MAX));
        assert_eq!((u64::from(COUNT_SHIFT), u64::from(WRITES_SHIFT)), (ring::W0_KIND_SHIFT, ring::BLOCK_WRITES_SHIFT));
        assert!(CURSOR.contains(&format!("{}(%r10)", ring::RING_OFF_CURSOR)));
        assert!(ROOM.contains(&format!("{}(%r10)", ring::RING_OFF_LIMIT)));
        for refs in 1..=REFS_MAX as u64 {
            assert_eq!((8 * (refs + 1)).next_multiple_of(16), ring::block_slots(refs) * ring::SLOT_BYTES);
        }
    }

    #[test]
    fn a_header_says_how_many_references_there_are_and_which_of_them_write() {
        let body = "\tcall\t__tsan_read8\n\tcall\t__tsan_write2\n\tcall\t__tsan_read1\n";
        let out = filter(&text(body), true).unwrap();
        assert!(out.contains(&format!("\t.quad\t{:#x}\n", 1u64 << 54 | 3 << 56 | 0b010 << 32)), "{out}");
        assert!(out.contains(".Lhne0_1-.Lhns0_1, 1, 1, 0\n"), "{out}");
        assert!(out.contains("\taddq\t$32, %r11\n"), "{out}");
    }
}
