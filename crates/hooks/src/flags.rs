//! What a compiler command line asks for, as far as it decides where the runtime goes.
use std::ffi::{OsStr, OsString};

/// Options whose value is the next argument, so that the value is not taken for an input file.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-T",
    "-u",
    "-z",
    "-e",
    "-B",
    "-A",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-aux-info",
    "-arch",
    "-target",
    "--param",
    "--sysroot",
    "-wrapper",
    "-dumpbase",
    "-dumpdir",
    "-dumpbase-ext",
    "-soname",
    "-rpath",
];

/// Endings of what gcc and clang compile with the sanitizer pass.
const SOURCE_ENDINGS: &[&str] = &[
    "c", "i", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii", "m", "mi", "mm", "M", "mii", "h", "H", "hh", "hp",
    "hxx", "hpp", "HPP", "h++", "tcc", "cppm", // Fortran, of gfortran.
    "f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "F", "FOR", "FTN", "fpp", "FPP", "F77", "F90", "F95", "F03",
    "F08",
];

/// A command line, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Any input file or library.
    pub(crate) has_input: bool,
    /// An input that the sanitizer pass will see.
    pub(crate) has_source: bool,
    /// Stops before linking (`-c`, `-S`, `-E`, `-M`, ..., or only headers).
    pub(crate) stops: bool,
    /// Links a shared library.
    pub(crate) shared: bool,
    /// Links a relocatable object.
    pub(crate) relocatable: bool,
    /// Links without a dynamic linker.
    pub(crate) fully_static: bool,
    /// Says how much debug information there is to be.
    pub(crate) debug: bool,
    /// Uses link-time optimisation.
    pub(crate) lto: bool,
    /// The caller wants this file left alone.
    pub(crate) opted_out: bool,
    /// Sanitizers other than thread that cannot be combined with it.
    pub(crate) foreign_sanitizer: Option<String>,
    /// Wants every symbol of a shared library to be defined at link time.
    pub(crate) no_undefined: bool,
    /// Uses OpenMP.
    pub(crate) openmp: bool,
    /// Strips symbols when linking.
    pub(crate) strips: bool,
    /// Is code that may come into a library.
    pub(crate) library: bool,
    /// Is for another machine than the compiler's own, or another model of code.
    pub(crate) elsewhere: bool,
}

impl Flags {
    /// Reads `args` (response files already expanded).
    pub(crate) fn parse(args: &[OsString]) -> Flags {
        let (mut flags, mut language, mut only_headers) = (Flags::default(), false, true);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let text = arg.to_string_lossy();
            if text == "-x" {
                language = rest.next().is_some_and(|l| l != "none" && l != "assembler" && l != "assembler-with-cpp");
            } else if WITH_VALUE.contains(&&*text) {
                flags.elsewhere |= text == "-target";
                rest.next();
            } else if text == "-" || !text.starts_with('-') {
                flags.has_input = true;
                flags.has_source |= language || has_source_ending(arg);
                only_headers &= is_header(arg);
            } else {
                flags.option(&text);
                only_headers &= !text.starts_with("-l");
            }
        }
        flags.stops |= flags.has_input && only_headers;
        flags
    }

    /// Whether the calls of the entry points are made into blocks of references.
    pub(crate) fn has_blocks(&self) -> bool {
        cfg!(target_arch = "x86_64") && !self.elsewhere
    }

    fn option(&mut self, text: &str) {
        match text {
            "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" | "--precompile" | "-emit-ast" => self.stops = true,
            "-shared" | "--shared" => (self.shared, self.library) = (true, true),
            "-r" | "--relocatable" => self.relocatable = true,
            "-static" | "--static" | "-static-pie" => self.fully_static = true,
            "-Wl,-z,defs" | "-Wl,--no-undefined" | "-Wl,-no-undefined" => self.no_undefined = true,
            "-s" | "-Wl,-s" | "-Wl,--strip-all" => self.strips = true,
            "-fno-sanitize=thread" | "-fno-sanitize=all" => self.opted_out = true,
            "-fno-lto" => self.lto = false,
            "-fPIC" | "-fpic" => self.library = true,
            "-fno-PIC" | "-fno-pic" | "-fPIE" | "-fpie" | "-fno-pie" | "-fno-PIE" => self.library = false,
            "-m32" | "-mx32" | "-m16" => self.elsewhere = true,
            "-fno-openmp" => self.openmp = false,
            _ if text == "-fopenmp" || text.starts_with("-fopenmp=") => self.openmp = true,
            _ if text.starts_with("--target=") || text.starts_with("-mcmodel=") => self.elsewhere = true,
            _ if text == "-flto" || text.starts_with("-flto=") => self.lto = true,
            _ if text.starts_with("-fsanitize=") => self.sanitizer(&text["-fsanitize=".len()..]),
            _ if text.starts_with("-l") => self.has_input = true,
            _ => self.debug |= asks_for_debug(text),
        }
    }

    fn sanitizer(&mut self, list: &str) {
        let foreign = ["address", "memory", "leak", "hwaddress", "kernel-address", "dataflow"];
        if let Some(name) = list.split(',').find(|n| foreign.contains(n)) {
            self.foreign_sanitizer = Some(name.to_string());
        }
    }
}

/// Whether this is a request for ThreadSanitizer itself, which brings another runtime.
pub(crate) fn is_thread_sanitizer(arg: &OsStr) -> bool {
    arg == "-fsanitize=thread"
}

fn asks_for_debug(text: &str) -> bool {
    matches!(text, "-g" | "-g0" | "-g1" | "-g2" | "-g3" | "-gmlt" | "-gline-tables-only" | "-gline-directives-only")
        || text.starts_with("-ggdb")
        || text.starts_with("-gdwarf")
}

fn ending(arg: &OsStr) -> Option<&str> {
    std::path::Path::new(arg).extension().and_then(OsStr::to_str)
}

fn has_source_ending(arg: &OsStr) -> bool {
    ending(arg).is_some_and(|e| SOURCE_ENDINGS.contains(&e))
}

fn is_header(arg: &OsStr) -> bool {
    ending(arg).is_some_and(|e| e.starts_with(['h', 'H']))
}
