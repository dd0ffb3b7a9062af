//! Automatic balancing as a whole, on or off for a while.
use super::knobs::{BALANCING, Knobs, NORMAL};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the value that was changed is written down, below the root.
const SAVED: &str = "run/homenode/numa-switch.saved";

/// `kernel.numa_balancing` changed; put back when dropped, or by the next start if this one is killed.
#[derive(Debug)]
pub struct Switch {
    root: PathBuf,
    before: u64,
}

impl Switch {
    /// Switches balancing for placement on or off below `root` (`/`); tiering stays as it is. `None`: it is so already.
    ///
    /// # Errors
    /// The kernel has no balancing ([`io::ErrorKind::NotFound`]), no permission, or another run has switched it.
    pub fn set(root: &Path, on: bool) -> io::Result<Option<Switch>> {
        restore_switch(root)?;
        let file = root.join(BALANCING);
        let before: u64 = fs::read_to_string(&file)?.trim().parse().map_err(io::Error::other)?;
        let wanted = if on { before | NORMAL } else { before & !NORMAL };
        if wanted == before {
            return Ok(None);
        }
        let saved = root.join(SAVED);
        if let Some(dir) = saved.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&saved, format!("{} {before}\n", std::process::id()))?;
        let held = Switch { root: root.to_owned(), before };
        fs::write(&file, wanted.to_string())?;
        Ok(Some(held))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if fs::write(self.root.join(BALANCING), self.before.to_string()).is_ok() {
            // If this fails, the next start puts back the same value once more.
            let _ = fs::remove_file(self.root.join(SAVED));
        }
    }
}

/// What `--tune-kernel` may change, as it stands now below `root`, on one line.
pub fn settings_in_words(root: &Path) -> String {
    let balancing = fs::read_to_string(root.join(BALANCING)).unwrap_or_default();
    let scans = Knobs::read(root).map_or("that cannot be read".to_owned(), |k| {
        format!(
            "scan_delay_ms {}, scan_period_min_ms {}, scan_period_max_ms {}, scan_size_mb {}",
            k.scan_delay_ms, k.scan_period_min_ms, k.scan_period_max_ms, k.scan_size_mb
        )
    });
    let balancing = if balancing.trim().is_empty() { "absent" } else { balancing.trim() };
    format!(
        "--tune-kernel: settings of the whole machine may change during this run and are put back at its end: \
         kernel.numa_balancing (now {balancing}), its scan settings (now {scans}), a DAMON monitor while recording"
    )
}

/// Puts back what a process that no longer runs had switched; returns the value.
///
/// # Errors
/// The process runs ([`io::ErrorKind::ResourceBusy`]), or no permission.
pub fn restore_switch(root: &Path) -> io::Result<Option<u64>> {
    let saved = root.join(SAVED);
    let text = match fs::read_to_string(&saved) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut numbers = text.split_ascii_whitespace().map(|w| w.parse::<u64>().ok());
    let (Some(Some(pid)), Some(Some(before)), None) = (numbers.next(), numbers.next(), numbers.next()) else {
        // Torn by a crash before anything was changed.
        fs::remove_file(&saved)?;
        return Ok(None);
    };
    if u32::try_from(pid).is_ok_and(homenode_sys::process::alive) {
        let why = format!("process {pid} has switched kernel.numa_balancing and will put it back");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    fs::write(root.join(BALANCING), before.to_string())?;
    fs::remove_file(&saved)?;
    Ok(Some(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(root: &Path) -> String {
        fs::read_to_string(root.join(BALANCING)).unwrap()
    }

    #[test]
    fn what_may_change_is_said_with_its_present_value() {
        let root = tempfile::tempdir().unwrap();
        assert!(settings_in_words(root.path()).contains("numa_balancing (now absent)"));
        fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        fs::write(root.path().join(BALANCING), "0\n").unwrap();
        let said = settings_in_words(root.path());
        assert!(said.contains("(now 0)") && !said.contains('\n'), "{said}");
    }

    #[test]
    fn the_switch_returns_at_the_end_and_after_a_crash() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        assert_eq!(Switch::set(at, true).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::create_dir_all(at.join("proc/sys/kernel")).unwrap();
        for (before, on, during) in [("0", true, "1"), ("1", false, "0"), ("3", false, "2"), ("2", true, "3")] {
            fs::write(at.join(BALANCING), before).unwrap();
            let held = Switch::set(at, on).unwrap().unwrap();
            assert_eq!(value(at), during);
            assert_eq!(Switch::set(at, on).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
            drop(held);
            assert_eq!((value(at), restore_switch(at).unwrap()), (before.to_owned(), None));
            // A crash: the process of the note is gone.
            std::mem::forget(Switch::set(at, on).unwrap());
            let note = fs::read_to_string(at.join(SAVED)).unwrap();
            fs::write(at.join(SAVED), note.replace(&std::process::id().to_string(), "4294967")).unwrap();
            assert_eq!(restore_switch(at).unwrap(), Some(before.parse().unwrap()));
            assert_eq!(value(at), before);
        }
        fs::write(at.join(BALANCING), "1").unwrap();
        assert!(Switch::set(at, true).unwrap().is_none() && !at.join(SAVED).exists());
        for torn in ["", "12", "1 x", "1 2 3"] {
            fs::write(at.join(SAVED), torn).unwrap();
            assert_eq!(restore_switch(at).unwrap(), None);
        }
    }
}
