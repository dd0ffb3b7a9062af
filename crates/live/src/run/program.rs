//! Which program a plan is for: the one that is started, or one that it starts (scripts, env, nice, taskset, mpirun).
use homenode_command::Failure;
use homenode_host::launch::find_program;
use homenode_migrate::{PAGE_BYTES, process};
use homenode_place::{Match, check_build, module};
use homenode_placement::plan::{ModuleBuild, Plan};
use homenode_symbols::ModuleFile;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectSegment};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The program of a plan.
pub(crate) struct Program {
    /// Program file, if there is one here.
    pub(crate) image: Option<Image>,
    /// What that file has.
    pub(crate) file: Option<ModuleFile>,
    /// Build id of the program.
    pub(crate) build_id: Option<String>,
    /// Whether another program starts it.
    pub(crate) launched: bool,
}

impl Program {
    /// The program that `command` runs under `plan`; `first` is the file of its first word.
    pub(crate) fn of(plan: &Plan, matching: Match, command: &[OsString], first: &Path) -> Result<Program, Failure> {
        let direct = Image::read(first).ok();
        let Some(recorded) = plan.modules.first() else { return Program::at(first, false) };
        let words = words(command);
        let wanted = |p: &&PathBuf| match matching {
            Match::Build => module(p).is_ok_and(|m| names(plan, &m)),
            Match::Size => p.file_name() == Path::new(&recorded.path).file_name() && Image::read(p).is_ok(),
        };
        let own = match matching {
            Match::Build => direct.is_some() && names(plan, &module(first)?),
            Match::Size => direct.is_some() && !words.iter().any(|p| wanted(&p) || is_script(p)),
        };
        if own {
            return Program::at(first, false);
        }
        if let Some(found) = words.iter().find(wanted) {
            return Program::at(found, true);
        }
        let by_script = direct.is_none() || words.iter().any(|p| is_script(p));
        if !by_script && !same_launcher(plan, recorded, command) {
            check_build(plan, matching, first, &module(first)?)?;
            return Program::at(first, false);
        }
        Program::recorded(plan, recorded, matching)
    }

    fn at(path: &Path, launched: bool) -> Result<Program, Failure> {
        let (image, file) = (Image::read(path)?, module(path)?);
        Ok(Program { image: Some(image), build_id: file.build_id.clone(), file: Some(file), launched })
    }

    /// The recorded program where it was then; what has come in its place is another build. A program that is not there any
    /// more may have moved: its build id finds it when it runs.
    fn recorded(plan: &Plan, recorded: &ModuleBuild, matching: Match) -> Result<Program, Failure> {
        let path = Path::new(&recorded.path);
        if path.exists() {
            check_build(plan, matching, path, &module(path)?)?;
            return Program::at(path, true);
        }
        if matching == Match::Size {
            let why = "by size a plan is for a program whose file is known";
            return Err(Failure::input(format!("{}: there is no such file; {why}", recorded.path)));
        }
        Ok(Program { image: None, file: None, build_id: Some(recorded.build_id.clone()), launched: true })
    }

    /// Whether a library can be preloaded.
    pub(crate) fn dynamic(&self) -> bool {
        self.image.as_ref().is_none_or(|i| i.dynamic)
    }

    /// The process that runs this program: this one or one that it started.
    pub(crate) fn running(&self, pid: u32) -> Option<(u32, u64)> {
        let image = self.image.as_ref()?;
        let bias = |pid: u32| Some((pid, image.bias(pid)?));
        bias(pid).or_else(|| process::tree(pid).into_iter().find_map(bias))
    }
}

fn names(plan: &Plan, file: &ModuleFile) -> bool {
    file.build_id.as_ref().is_some_and(|id| plan.modules.iter().any(|m| m.build_id == *id))
}

/// Files that words after the first one name, also within words such as those after `sh -c`.
fn words(command: &[OsString]) -> Vec<PathBuf> {
    let texts = command.iter().skip(1).map(|w| w.to_string_lossy().into_owned());
    let parts = texts.flat_map(|w| w.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    parts.filter_map(|w| find_program(&[OsString::from(w)]).ok()).collect()
}

fn is_script(path: &Path) -> bool {
    let mut head = [0; 2];
    let read = |mut f: fs::File| std::io::Read::read_exact(&mut f, &mut head);
    fs::File::open(path).and_then(read).is_ok() && head == *b"#!"
}

/// Whether the recording was started by the same program, which was not the one that was recorded (`make run`).
fn same_launcher(plan: &Plan, recorded: &ModuleBuild, command: &[OsString]) -> bool {
    let name = |p: &Path| p.file_name().map(std::ffi::OsStr::to_owned);
    let now = command.first().and_then(|c| name(Path::new(c)));
    let then = plan.evidence.command.first().and_then(|c| name(Path::new(c)));
    now.is_some() && now == then && now != name(Path::new(&recorded.path))
}

/// What must be known of a program file.
pub(crate) struct Image {
    path: PathBuf,
    /// Whether it has an interpreter, so that libraries can be preloaded.
    pub(crate) dynamic: bool,
    /// Whether it is linked to a fixed address.
    fixed: bool,
    /// Address of its first segment as linked.
    first: u64,
}

impl Image {
    pub(crate) fn read(path: &Path) -> Result<Image, Failure> {
        let named = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", path.display()));
        let bytes = fs::read(path).map_err(|e| named(&e))?;
        let file = ElfFile::<object::elf::FileHeader64<object::Endianness>>::parse(&*bytes)
            .map_err(|e| named(&format!("a plan is for one program, and this is no 64-bit ELF program ({e})")))?;
        let endian = file.endian();
        let interpreted =
            |h: &&object::elf::ProgramHeader64<object::Endianness>| h.p_type(endian) == object::elf::PT_INTERP;
        Ok(Image {
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            dynamic: file.elf_program_headers().iter().any(|h| interpreted(&h)),
            fixed: file.elf_header().e_type(endian) == object::elf::ET_EXEC,
            first: file.segments().map(|s| s.address()).min().unwrap_or(0) & !(PAGE_BYTES - 1),
        })
    }
    /// Path of the program file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    /// What to add to addresses as linked; `None` while the process does not run this program (yet).
    fn bias(&self, pid: u32) -> Option<u64> {
        let running = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        if running != self.path {
            return None;
        }
        if self.fixed {
            return Some(0);
        }
        let name = self.path.to_string_lossy();
        let areas = process::maps(pid).ok()?;
        let first = areas.iter().filter(|a| a.name == name).map(|a| a.start).min()?;
        Some(first.wrapping_sub(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_program_knows_its_own_bias() {
        let path = std::env::current_exe().unwrap();
        let image = Image::read(&path).unwrap();
        assert!(image.dynamic && !image.fixed);
        let areas = process::maps(0).unwrap();
        let name = image.path.to_string_lossy();
        let first = areas.iter().filter(|a| a.name == name).map(|a| a.start).min().unwrap();
        assert_eq!(image.bias(std::process::id()), Some(first - image.first));
        assert!(Image::read(Path::new("/etc/passwd")).is_err());
    }

    fn plan_of(path: &str) -> Plan {
        let build_id = module(Path::new(path)).unwrap().build_id.expect("programs of a distribution have one");
        Plan { modules: vec![ModuleBuild { build_id, path: path.into() }], ..Plan::new("two-socket") }
    }

    fn found(plan: &Plan, matching: Match, command: &[&str]) -> Result<(bool, Option<String>), String> {
        let command: Vec<OsString> = command.iter().map(Into::into).collect();
        let first = find_program(&command).unwrap();
        let program = Program::of(plan, matching, &command, &first).map_err(|e| e.message)?;
        Ok((program.launched, program.build_id))
    }

    #[test]
    fn launchers_are_told_from_the_program_and_from_other_builds() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("wrap.sh");
        fs::write(&script, "#!/bin/sh\nexec sleep 0\n").unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let script = script.to_str().unwrap();
        let sleep = find_program(&["sleep".into()]).unwrap();
        let mut plan = plan_of(sleep.to_str().unwrap());
        let id = plan.modules[0].build_id.clone();
        let direct = Ok((false, Some(id.clone())));
        let launched = Ok((true, Some(id.clone())));
        assert_eq!(found(&plan, Match::Build, &["sleep", "0"]), direct);
        for command in [
            &["env", "A=b", "sleep", "0"][..],
            &["nice", sleep.to_str().unwrap(), "0"],
            &["sh", "-c", "exec sleep 0"],
            &[script],
            &["nice", script],
        ] {
            assert_eq!(found(&plan, Match::Build, command), launched, "{command:?}");
            assert_eq!(found(&plan, Match::Size, command), launched, "{command:?}");
        }
        // Another program is another build, unless the recording was started by it.
        assert!(found(&plan, Match::Build, &["true", "x"]).unwrap_err().contains("another build: "));
        plan.evidence.command = vec!["true".into()];
        assert_eq!(found(&plan, Match::Build, &["true", "x"]), launched);
        assert!(!found(&plan, Match::Size, &["true", "x"]).unwrap().0);
        // What stands where the recorded program was is another build of it; what is gone may have moved.
        plan.modules[0].path = find_program(&["true".into()]).unwrap().display().to_string();
        assert!(found(&plan, Match::Build, &[script]).unwrap_err().contains("another build: "));
        plan.modules[0].path = "/no/such/program".into();
        assert_eq!(found(&plan, Match::Build, &[script]), launched);
        assert!(found(&plan, Match::Size, &[script]).unwrap_err().contains("no such file"));
    }
}
