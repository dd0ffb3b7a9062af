//! Instruction bytes by hand, with the mistakes that hand-written decoders of this kind made.
use super::testing::{self, IP};
use super::{Access, DropCounts, Dropped, Isa, When};
use homenode_trace::Op;

// Numbers of perf's registers.
const RAX: usize = 0;
const RBX: usize = 1;
const RCX: usize = 2;
const RSI: usize = 4;
const RDI: usize = 5;
const RSP: usize = 7;

/// Register i holds (i + 1) << 20, so that each address names its registers.
fn values() -> [u64; 24] {
    std::array::from_fn(|i| (i as u64 + 1) << 20)
}

fn run(code: &[u8], when: When, abi: u64, mask: u64) -> Result<Vec<Access>, Dropped> {
    testing::run(Isa::X86_64, code, when, (abi, mask), &values())
}

fn all(code: &[u8], when: When) -> Result<Vec<Access>, Dropped> {
    run(code, when, 2, 0xff_ffff)
}

fn one(code: &[u8], when: When, addr: u64, size: u32, op: Op) {
    assert_eq!(all(code, when), Ok(vec![Access { addr, size, op }]), "{code:x?} {when:?}");
}

fn r(number: usize) -> u64 {
    values()[number]
}

#[test]
fn a_destination_that_is_the_base_loses_the_address_after_the_fact_only() {
    // mov (%rax),%rax; mov (%rax),%eax (the upper half is cleared too); mov (%rax),%al; mov (%rbx,%rcx),%rcx.
    for (code, addr, size) in [
        (&[0x48, 0x8b, 0x00][..], r(RAX), 8),
        (&[0x8b, 0x00], r(RAX), 4),
        (&[0x8a, 0x00], r(RAX), 1),
        (&[0x48, 0x8b, 0x0c, 0x0b], r(RBX) + r(RCX), 8),
    ] {
        one(code, When::Before, addr, size, Op::Read);
        assert_eq!(all(code, When::After), Err(Dropped::Overwritten), "{code:x?}");
    }
    // mov (%rax),%rbx keeps its base.
    one(&[0x48, 0x8b, 0x18], When::After, r(RAX), 8, Op::Read);
}

#[test]
fn jumps_and_calls_through_memory_refer_to_data() {
    // jmp *(%rax); call *8(%rbx): the target is read, and a return address pushed.
    one(&[0xff, 0x20], When::Before, r(RAX), 8, Op::Read);
    one(&[0xff, 0x20], When::After, r(RAX), 8, Op::Read);
    let call = all(&[0xff, 0x53, 0x08], When::Before).unwrap();
    assert!(call.contains(&Access { addr: r(RBX) + 8, size: 8, op: Op::Read }), "{call:?}");
    assert!(call.contains(&Access { addr: r(RSP) - 8, size: 8, op: Op::Write }), "{call:?}");
    // A plain call only pushes.
    one(&[0xe8, 0, 0, 0, 0], When::Before, r(RSP) - 8, 8, Op::Write);
}

#[test]
fn the_0f_byte_is_an_escape_to_other_opcodes() {
    // movzbl (%rdi),%eax; movaps (%rsi),%xmm0; lock cmpxchg %rcx,(%rdi); jne is no reference at all.
    one(&[0x0f, 0xb6, 0x07], When::After, r(RDI), 1, Op::Read);
    one(&[0x0f, 0x28, 0x06], When::After, r(RSI), 16, Op::Read);
    one(&[0xf0, 0x48, 0x0f, 0xb1, 0x0f], When::Before, r(RDI), 8, Op::Atomic);
    assert_eq!(all(&[0x0f, 0x85, 0, 0, 0, 0], When::Before), Err(Dropped::NoMemory));
}

#[test]
fn sib_bytes_and_displacements_are_all_taken_in() {
    // mov (%rsp),%rax needs a SIB byte without index; 0x10(%rbx,%rcx,4); absolute 0x1000 (SIB without base); %r12 and %r13.
    one(&[0x48, 0x8b, 0x04, 0x24], When::Before, r(RSP), 8, Op::Read);
    one(&[0x48, 0x8b, 0x44, 0x8b, 0x10], When::After, r(RBX) + 4 * r(RCX) + 0x10, 8, Op::Read);
    one(&[0x48, 0x8b, 0x04, 0x25, 0, 0x10, 0, 0], When::After, 0x1000, 8, Op::Read);
    one(&[0x49, 0x8b, 0x04, 0x24], When::Before, r(20), 8, Op::Read);
    one(&[0x49, 0x8b, 0x45, 0xf8], When::After, r(21) - 8, 8, Op::Read);
    one(&[0x89, 0x83, 0xff, 0xff, 0xff, 0xff], When::After, r(RBX) - 1, 4, Op::Write);
    // An address-size prefix cuts to 32 bits: mov (%eax),%ebx.
    one(&[0x67, 0x8b, 0x18], When::After, r(RAX) & 0xffff_ffff, 4, Op::Read);
}

#[test]
fn rip_relative_operands_count_from_the_next_instruction() {
    // mov 0x100(%rip),%rax is 7 bytes long.
    one(&[0x48, 0x8b, 0x05, 0, 1, 0, 0], When::After, IP + 7 + 0x100, 8, Op::Read);
    one(&[0x48, 0x8b, 0x05, 0xf8, 0xff, 0xff, 0xff], When::Before, IP + 7 - 8, 8, Op::Read);
}

#[test]
fn fs_and_gs_are_dropped_since_their_bases_are_not_recorded() {
    // mov %fs:0x28,%rax; mov %gs:(%rax),%rbx; a DS prefix means nothing.
    assert_eq!(all(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], When::Before), Err(Dropped::Segment));
    assert_eq!(all(&[0x65, 0x48, 0x8b, 0x18], When::Before), Err(Dropped::Segment));
    one(&[0x3e, 0x48, 0x8b, 0x18], When::Before, r(RAX), 8, Op::Read);
}

#[test]
fn stack_instructions_are_undone_where_the_amount_is_known() {
    // push %rax; pop %rbx; pop %rsp cannot be undone; leave reads at the frame pointer.
    one(&[0x50], When::Before, r(RSP) - 8, 8, Op::Write);
    one(&[0x50], When::After, r(RSP), 8, Op::Write);
    one(&[0x5b], When::Before, r(RSP), 8, Op::Read);
    one(&[0x5b], When::After, r(RSP) - 8, 8, Op::Read);
    assert_eq!(all(&[0x5c], When::After), Err(Dropped::Overwritten));
    one(&[0xc3], When::After, r(RSP) - 8, 8, Op::Read);
}

#[test]
fn string_instructions_lose_their_registers_afterwards() {
    // movsb reads at %rsi and writes at %rdi.
    let both = all(&[0xa4], When::Before).unwrap();
    assert_eq!(both.len(), 2);
    assert!(both.contains(&Access { addr: r(RSI), size: 1, op: Op::Read }));
    assert!(both.contains(&Access { addr: r(RDI), size: 1, op: Op::Write }));
    assert_eq!(all(&[0xa4], When::After), Err(Dropped::Overwritten));
}

#[test]
fn what_is_no_reference_is_dropped_with_its_reason_and_counted() {
    let mut counts = DropCounts::default();
    for (code, why) in [
        (&[][..], Dropped::NoCode),
        (&[0x06], Dropped::NoInstruction),
        (&[0x48, 0x8b], Dropped::NoInstruction),
        (&[0x90], Dropped::NoMemory),
        (&[0x48, 0x8d, 0x03], Dropped::NoMemory),
        (&[0x0f, 0x1f, 0x00], Dropped::NoMemory),
        (&[0x0f, 0x18, 0x08], Dropped::NoMemory),
        (&[0xc4, 0xe2, 0x75, 0x92, 0x04, 0x90], Dropped::Scattered),
    ] {
        let found = all(code, When::Before).unwrap_err();
        assert_eq!(found, why, "{code:x?}");
        counts.add(found);
    }
    assert_eq!((counts.of(Dropped::NoMemory), counts.of(Dropped::Scattered), counts.total()), (4, 1, 8));
    assert_eq!(run(&[0x8b, 0x18], When::Before, 1, 0xff_ffff), Err(Dropped::NoRegister), "a 32-bit program");
    assert_eq!(run(&[0x8b, 0x18], When::Before, 2, 0xff_fffe), Err(Dropped::NoRegister), "%rax is not there");
}

#[test]
fn no_bytes_make_it_panic() {
    let mut rng = homenode_base::Rng::new(11);
    for _ in 0..200_000 {
        let code: [u8; 16] = std::array::from_fn(|_| rng.next_u64() as u8);
        let n = rng.below(17) as usize;
        let when = if rng.chance(1, 2) { When::Before } else { When::After };
        if let Ok(found) = all(&code[..n], when) {
            assert!(found.iter().all(|a| a.size > 0));
        }
    }
}

/// What [`super::Ahead`] finds, with a stack at `r(RSP)`.
fn ahead(code: &[u8]) -> Result<Access, Dropped> {
    testing::ahead(Isa::X86_64, code, (2, 0xff_ffff), &values())
}

#[test]
fn the_next_access_is_found_behind_what_only_computes() {
    let read = |addr| Ok(Access { addr, size: 8, op: Op::Read });
    // add $64,%rax; mov (%rax),%rbx.
    assert_eq!(ahead(&[0x48, 0x83, 0xc0, 0x40, 0x48, 0x8b, 0x18]), read(r(RAX) + 64));
    // mov %rcx,%rax; lea 8(%rax,%rbx,2),%rdx; mov (%rdx),%rbx.
    let lea = [0x48, 0x89, 0xc8, 0x48, 0x8d, 0x54, 0x58, 0x08, 0x48, 0x8b, 0x1a];
    assert_eq!(ahead(&lea), read(r(RCX) + 2 * r(RBX) + 8));
    // inc %rax; dec %rcx; sub %rcx,%rax; mov (%rax),%rbx.
    let sums = [0x48, 0xff, 0xc0, 0x48, 0xff, 0xc9, 0x48, 0x29, 0xc8, 0x48, 0x8b, 0x18];
    assert_eq!(ahead(&sums), read((r(RAX) + 1).wrapping_sub(r(RCX) - 1)));
    // push %rbx (the stack); mov 8(%rdi),%rax.
    assert_eq!(ahead(&[0x53, 0x48, 0x8b, 0x47, 0x08]), read(r(RDI) + 8));
    // mov %fs:0x28,%rax (the thread's own); mov (%rdi),%rcx.
    let own = [0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x48, 0x8b, 0x0f];
    assert_eq!(ahead(&own), read(r(RDI)));
}

#[test]
fn loops_are_followed_back_and_what_leads_on_is_passed() {
    // addq $1,(%rax); add $64,%rax; cmp %rax,%rdx; jne to the beginning: stopped at the comparison.
    let code = [0x48, 0x83, 0x00, 0x01, 0x48, 0x83, 0xc0, 0x40, 0x48, 0x39, 0xc2, 0x75, 0xf3];
    let found = testing::ahead_at(Isa::X86_64, &code, 8, (2, 0xff_ffff), &values());
    assert_eq!(found, Ok(Access { addr: r(RAX), size: 8, op: Op::Atomic }));
    // At the addition: the next iteration is one further.
    let found = testing::ahead_at(Isa::X86_64, &code, 4, (2, 0xff_ffff), &values());
    assert_eq!(found, Ok(Access { addr: r(RAX) + 64, size: 8, op: Op::Atomic }));
    // je .+5 is passed by; jmp .+3 is followed: mov (%rbx),%rax behind them.
    let on = [0x74, 0x05, 0xeb, 0x03, 0x48, 0x8b, 0x0f, 0x48, 0x8b, 0x03];
    assert_eq!(ahead(&on), Ok(Access { addr: r(RBX), size: 8, op: Op::Read }));
}

#[test]
fn what_cannot_be_known_ahead_is_not_guessed() {
    // imul %rbx,%rax; mov (%rax),%rbx: the product is not followed.
    assert_eq!(ahead(&[0x48, 0x0f, 0xaf, 0xc3, 0x48, 0x8b, 0x18]), Err(Dropped::NoRegister));
    // mov 8(%rsp),%rax; mov (%rax),%rbx: what the stack holds is not known.
    assert_eq!(ahead(&[0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x18]), Err(Dropped::NoRegister));
    // A jump to where there is no code, one that a register decides, and code that is cut off.
    assert_eq!(ahead(&[0x90, 0xeb, 0x70, 0x48, 0x8b, 0x18]), Err(Dropped::NoMemory));
    assert_eq!(ahead(&[0x90, 0xff, 0xe0, 0x48, 0x8b, 0x18]), Err(Dropped::NoMemory));
    assert_eq!(ahead(&[0x90, 0x48, 0x8b]), Err(Dropped::NoMemory));
    assert_eq!(ahead(&[0x48, 0x8b]), Err(Dropped::NoInstruction));
    assert_eq!(ahead(&[0xeb, 0xfe]), Err(Dropped::NoMemory), "a loop without an end");
    let mut rng = homenode_base::Rng::new(12);
    for _ in 0..50_000 {
        let code: [u8; 32] = std::array::from_fn(|_| rng.next_u64() as u8);
        let _ = ahead(&code[..rng.below(33) as usize]);
    }
}
