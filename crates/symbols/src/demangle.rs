//! Names as the programmer wrote them.
use super::shorten::shorten;
use cpp_demangle::DemangleOptions;

/// The name of a C++ or Rust function or object without its mangling; any other name unchanged. Rust hashes, return types
/// and C++ parameters are left out: names stay readable, and the line tells overloads apart.
pub(crate) fn demangle(raw: &str) -> String {
    // ELF symbol versions (`memcpy@@GLIBC_2.14`) are no part of the name.
    let raw = raw.split('@').next().unwrap_or(raw);
    if let Ok(name) = rustc_demangle::try_demangle(raw) {
        return format!("{name:#}");
    }
    if raw.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(raw)
        && let Ok(name) = symbol.demangle_with_options(&DemangleOptions::new().no_params().no_return_type())
    {
        return shorten(&name);
    }
    raw.to_owned()
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn c_cpp_and_rust_names() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(demangle("_ZN4grid5relaxEPdii"), "grid::relax");
        assert_eq!(demangle("_ZN7stencil3run17h0123456789abcdefE"), "stencil::run");
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangle("_Znot really"), "_Znot really");
    }
}
