//! Recordings, and results of them, that a run leaves behind when it is killed, and that the next one takes up.
//!
//! A finished recording has a card beside it: how it was made, and a sum of its files. It is written last, under another name first, so that a
//! recording with a card is whole. Whose card says anything else is made anew. Results count for the very program that computed them and
//! the recording that they are of.
use crate::elsewhere::{Elsewhere, Unit};
use homenode_command::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use tempfile::TempDir;

/// Where programs and recordings are while a paper is reproduced.
pub enum Place {
    /// Goes when the run ends.
    Passing(TempDir),
    /// Stays until a run has come to its end; nobody else uses it meanwhile.
    Stays {
        /// Where it is.
        path: PathBuf,
        /// Held while it is used.
        _lock: File,
    },
}

impl Place {
    /// A folder of that name in the one for results, if there is one.
    ///
    /// # Errors
    /// It cannot be made, or another run uses it.
    pub fn new(out: Option<&Path>, name: &str) -> Result<Place, Failure> {
        let Some(out) = out else {
            // One process may reproduce twice at a time, so each has its own.
            let folder = tempfile::Builder::new().prefix("homenode-reproduce-").tempdir();
            return folder
                .map(Place::Passing)
                .map_err(|e| Failure::work(format!("cannot create a temporary folder: {e}")));
        };
        let path = out.join(name);
        let failed = |e: io::Error| Failure::work(format!("cannot create {}: {e}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        if path.is_symlink() {
            // All that is in it goes in the end.
            return Err(Failure::work(format!("{} is a link: remove it, or take another -o", path.display())));
        }
        // Programs are built and run there: by their full names.
        let path = path.canonicalize().map_err(failed)?;
        let lock = File::create(path.join("lock")).map_err(failed)?;
        if lock.try_lock().is_err() {
            let path = path.display();
            return Err(Failure::work(format!("{path} is used by another `homenode reproduce`: take another -o")));
        }
        Ok(Place::Stays { path, _lock: lock })
    }
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Place::Passing(folder) => folder.path(),
            Place::Stays { path, .. } => path,
        }
    }
    /// All is done: nothing is taken up again.
    pub fn over(self) {
        if let Place::Stays { path, .. } = &self {
            // What is left takes room and does no harm.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Sum of what is in a file or folder, names and all.
fn sum(path: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut files: Vec<PathBuf> = match path.is_dir() {
        true => fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?,
        false => vec![path.to_owned()],
    };
    files.sort_unstable();
    // A link leads elsewhere, and a pipe has no end.
    if files.iter().any(|f| !f.symlink_metadata().is_ok_and(|m| m.is_file() || m.is_dir())) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut buffer = vec![0; 1 << 20];
    for file in files {
        hasher.write(file.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write_u64(if file.is_dir() { sum(&file)? } else { file.metadata()?.len() });
        let mut open = if file.is_dir() { continue } else { File::open(file)? };
        loop {
            let n = open.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            hasher.write(&buffer[..n]);
        }
    }
    Ok(hasher.finish())
}

/// The card of a recording.
pub struct Card {
    dataset: PathBuf,
    /// How it is made: version, program, words.
    made: String,
}

impl Card {
    /// Of a recording of a program with these words, and whatever else it depends on.
    pub fn new(dataset: &Path, program: &Path, words: &[String], other: &str) -> io::Result<Card> {
        let (version, program) = (env!("CARGO_PKG_VERSION"), sum(program)?);
        let made = format!("homenode {version}\nprogram {program:016x}\n{other}\n{}\n", words.join(" "));
        Ok(Card { dataset: dataset.to_owned(), made })
    }
    fn path(&self, ending: &str) -> PathBuf {
        self.dataset.with_extension(ending)
    }
    fn text(&self) -> io::Result<String> {
        Ok(format!("{}recording {:016x}\n", self.made, sum(&self.dataset)?))
    }
    /// Whether the recording is there, whole, and made the same way; a line about one that is not.
    pub fn fits(&self) -> Result<bool, String> {
        if !self.dataset.exists() {
            return Ok(false);
        }
        let (card, text) = (fs::read_to_string(self.path("card")), self.text());
        match (card, text) {
            (Ok(card), Ok(text)) if card == text => Ok(true),
            _ => {
                Err(format!("{}: not finished, changed, or of another program: recorded anew", self.dataset.display()))
            }
        }
    }
    /// The recording is about to be made.
    pub fn remove(&self) {
        let _ = fs::remove_file(self.path("card"));
    }
    /// The recording is made.
    pub fn write(&self) -> io::Result<()> {
        fs::write(self.path("card.new"), self.text()?)?;
        fs::rename(self.path("card.new"), self.path("card"))
    }
}

/// Sum of the program that runs: another one may compute something else.
fn this_program() -> io::Result<u64> {
    static SUM: OnceLock<u64> = OnceLock::new();
    if let Some(known) = SUM.get() {
        return Ok(*known);
    }
    let found = sum(&std::env::current_exe()?)?;
    Ok(*SUM.get_or_init(|| found))
}

/// Results of one recording, a line each: a name, a tab, JSON. The first line says what they are of.
pub struct Results {
    file: Mutex<File>,
    found: BTreeMap<String, String>,
}

impl Results {
    /// Of a finished recording, in a file beside it; empty if what is there is of another program or recording.
    ///
    /// # Errors
    /// The file cannot be read or written, or is none.
    pub fn of(dataset: &Path) -> io::Result<Results> {
        let card = fs::read_to_string(dataset.with_extension("card"))?;
        let head = format!("results of program {:016x}, {}\n", this_program()?, card.replace(['\n', '\t'], ", "));
        let path = dataset.with_extension("results");
        if path.symlink_metadata().is_ok_and(|m| !m.is_file()) {
            // A link leads elsewhere, and a pipe has no end.
            return Err(io::ErrorKind::InvalidData.into());
        }
        let old = fs::read(&path).unwrap_or_default();
        let old = String::from_utf8_lossy(&old);
        let whole = old.rfind('\n').map_or("", |end| &old[..=end]);
        let rows = whole.strip_prefix(&head);
        let found = rows.unwrap_or("").lines().filter_map(|l| l.split_once('\t'));
        let found: BTreeMap<String, String> = found.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        // A line that a kill cut short is left out.
        let new = dataset.with_extension("results.new");
        let mut file = File::create(&new)?;
        file.write_all(head.as_bytes())?;
        file.write_all(rows.unwrap_or("").as_bytes())?;
        fs::rename(&new, &path)?;
        Ok(Results { file: Mutex::new(file), found })
    }
    /// One that an earlier run left.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.found.get(name)?).ok()
    }
    /// Keeps one for a later run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep<T: Serialize>(&self, name: &str, result: &T) -> io::Result<()> {
        self.keep_text(name, &serde_json::to_string(result)?)
    }
    fn keep_text(&self, name: &str, text: &str) -> io::Result<()> {
        let line = format!("{name}\t{text}\n");
        self.file.lock().expect("nobody panics while writing one").write_all(line.as_bytes())
    }
    /// Has runs of these names done elsewhere, but for those that are found already, and keeps what comes. `unit` makes what goes there. A
    /// run without a result (`null`) stays without one.
    ///
    /// # Errors
    /// A run that fails, or a result that cannot be kept.
    pub fn fetch(
        &mut self,
        elsewhere: &dyn Elsewhere,
        names: &[String],
        unit: impl Fn(&str) -> Unit,
    ) -> Result<(), Failure> {
        let left: Vec<&String> = names.iter().filter(|name| !self.found.contains_key(*name)).collect();
        let json = |name: &&String| serde_json::to_string(&unit(name));
        let units = left.iter().map(json).collect::<Result<Vec<_>, _>>();
        let units = units.map_err(|e| Failure::usage(format!("a recording whose name is no text: {e}")))?;
        let mut fetched = BTreeMap::new();
        elsewhere.answers(&units, &mut |number, answer| {
            let name = *left.get(number).ok_or_else(|| Failure::work(format!("nobody asked for run {number}")))?;
            if answer != "null" && fetched.insert(name.clone(), answer.clone()).is_none() {
                self.keep_text(name, &answer).map_err(|e| Failure::work(format!("cannot keep a result: {e}")))?;
            }
            Ok(())
        })?;
        self.found.append(&mut fetched);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_recordings_made_the_same_way_are_taken_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, dataset) = (folder.path().join("program"), folder.path().join("program.2.0.hnt"));
        fs::write(&program, "code").expect("written");
        let card = |word: &str| Card::new(&dataset, &program, &[word.to_owned()], "2 threads").expect("a card");
        assert_eq!(card("-n").fits(), Ok(false), "there is none");
        fs::create_dir(&dataset).expect("made");
        fs::write(dataset.join("frames"), "one").expect("written");
        assert!(card("-n").fits().is_err(), "not finished");
        card("-n").write().expect("written");
        assert_eq!(card("-n").fits(), Ok(true));
        assert!(card("-m").fits().is_err(), "other words");
        fs::write(dataset.join("frames"), "two").expect("written");
        assert!(card("-n").fits().is_err(), "changed");
        fs::write(dataset.join("frames"), "one").expect("written");
        assert_eq!(card("-n").fits(), Ok(true));
        std::os::unix::fs::symlink("/dev/zero", dataset.join("more")).expect("linked");
        assert!(card("-n").fits().is_err(), "a link");
        fs::remove_file(dataset.join("more")).expect("removed");
        assert_eq!(card("-n").fits(), Ok(true));
        fs::write(&program, "other code").expect("written");
        assert!(card("-n").fits().is_err(), "another program");
    }

    #[test]
    fn results_are_taken_up_if_they_are_whole_and_of_the_same_recording() {
        let folder = tempfile::tempdir().expect("a folder");
        let dataset = folder.path().join("program.2.0.hnt");
        let kept = |name: &str| Results::of(&dataset).expect("readable").get::<u64>(name);
        assert!(Results::of(&dataset).is_err(), "no card");
        fs::write(dataset.with_extension("card"), "a card\n").expect("written");
        assert_eq!(kept("ccnuma 0"), None);
        let results = Results::of(&dataset).expect("made");
        results.keep("ccnuma 0", &17_u64).expect("kept");
        results.keep("rnuma 10", &18_u64).expect("kept");
        assert_eq!((kept("ccnuma 0"), kept("rnuma 10")), (Some(17), Some(18)));
        let path = dataset.with_extension("results");
        let text = fs::read_to_string(&path).expect("there");
        fs::write(&path, text.trim_end()).expect("written");
        assert_eq!((kept("ccnuma 0"), kept("rnuma 10")), (Some(17), None), "cut short by a kill");
        fs::write(dataset.with_extension("card"), "another card\n").expect("written");
        assert_eq!(kept("ccnuma 0"), None, "of another recording");
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("linked");
        assert!(Results::of(&dataset).is_err(), "a link");
    }

    /// Answers with what it is asked for; the run `none` has no result, `never` fails.
    struct Echo(Mutex<Vec<String>>);

    impl Elsewhere for Echo {
        fn answers(
            &self,
            units: &[String],
            each: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
        ) -> Result<(), Failure> {
            for (number, text) in units.iter().enumerate().rev() {
                let unit: Unit = serde_json::from_str(text).expect("a unit");
                self.0.lock().expect("one thread").push(unit.run.clone());
                match unit.run.as_str() {
                    "never" => return Err(Failure::work("the worker is dead")),
                    "none" => each(number, "null".into())?,
                    run => each(number, format!("\"{} of {}\"", run, unit.program))?,
                }
            }
            Ok(())
        }
    }

    #[test]
    fn results_from_elsewhere_are_kept_as_they_come() {
        let folder = tempfile::tempdir().expect("a folder");
        let dataset = folder.path().join("lu.2.0.hnt");
        fs::write(dataset.with_extension("card"), "a card\n").expect("written");
        let unit =
            |run: &str| Unit { paper: "p".into(), program: "lu".into(), recording: dataset.clone(), run: run.into() };
        let (echo, words) =
            (Echo(Mutex::default()), |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        let results = Results::of(&dataset).expect("made");
        results.keep("known", &"before").expect("kept");
        let mut results = Results::of(&dataset).expect("read");
        assert!(results.fetch(&echo, &words(&["never", "one"]), unit).is_err(), "the last is done first");
        let mut again = Results::of(&dataset).expect("read");
        again.fetch(&echo, &words(&["known", "one", "none", "two"]), unit).expect("done");
        assert_eq!(
            *echo.0.lock().expect("one thread"),
            ["one", "never", "two", "none"],
            "none twice, and not what is known"
        );
        for results in [again, Results::of(&dataset).expect("read")] {
            let found = ["known", "one", "two", "none"].map(|name| results.get::<String>(name));
            let text = |t: &str| Some(t.to_owned());
            assert_eq!(found, [text("before"), text("one of lu"), text("two of lu"), None]);
        }
    }

    #[test]
    fn a_place_is_used_by_one_and_goes_when_all_is_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = || Place::new(Some(folder.path()), "paper-XS.recordings");
        let first = place().expect("made");
        let path = first.path().to_owned();
        assert!(place().map(|_| ()).expect_err("in use").to_string().contains("another"));
        drop(first);
        assert!(path.exists(), "a run that does not come to its end leaves it");
        place().expect("free again").over();
        assert!(!path.exists());
        std::os::unix::fs::symlink("/", folder.path().join("paper-S.recordings")).expect("linked");
        let linked = Place::new(Some(folder.path()), "paper-S.recordings").map(|_| ());
        assert!(linked.expect_err("a link").to_string().contains("is a link"));
    }
}
