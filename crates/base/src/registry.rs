/// Declares the members of a family: one module per member, one list that everything else reads.
///
/// Each module must define `pub(crate) static SPEC: Type`. The macro expands to the `mod` lines and
/// `pub static ALL: &[&Type]`, in the order written. Adding a member edits this one line outside its own file.
/// `rustfmt` does not follow `mod` lines inside macros; `xtask tidy` formats those files by path.
#[macro_export]
macro_rules! registry {
    ($(#[$doc:meta])* $spec:ty; $($member:ident),+ $(,)?) => {
        $(mod $member;)+
        $(#[$doc])*
        pub static ALL: &[&$spec] = &[$(&$member::SPEC),+];
    };
}
