//! What the control group of this process allows: cpusets of version 2, of version 1, and of the file system before that.
use super::tree::Tree;
use homenode_machine::topology::Ranges;

/// Where the hierarchies are on most systems; looked at after the mounts that are listed.
const USUAL: [(Version, &str); 2] = [(Version::Two, "sys/fs/cgroup"), (Version::One, "sys/fs/cgroup/cpuset")];
/// Most mounts of control groups looked at.
const MOUNTS_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// Names of the file, the most telling first. `noprefix`, and the file system `cpuset`, leave the controller's name out.
    fn files(self, key: &str) -> Vec<String> {
        match self {
            Version::Two => vec![format!("cpuset.{key}.effective")],
            Version::One => {
                ["cpuset.effective_", "cpuset.", "effective_", ""].map(|prefix| format!("{prefix}{key}")).into()
            }
        }
    }
}

/// The set `cpus` or `mems` of the group of this process, with the file that has it.
pub(super) fn allowed(tree: &mut Tree, key: &str) -> Option<(String, Ranges)> {
    let mut places = mounts(tree);
    places.extend(USUAL.map(|(version, folder)| (version, folder.to_owned())));
    for (version, path) in names(tree) {
        // A path that climbs out names a group outside this name space: nothing can be read there.
        if climbs(&path) {
            continue;
        }
        for (_, mount) in places.iter().filter(|(v, _)| *v == version) {
            let found = nearest(tree, mount, &path, &version.files(key));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Names of this process's group in each hierarchy that can have a cpuset.
fn names(tree: &Tree) -> Vec<(Version, String)> {
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let name = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let one = controllers.split(',').any(|c| c == "cpuset");
        let version = if controllers.is_empty() { Version::Two } else { Some(Version::One).filter(|_| one)? };
        Some((version, path.to_owned()))
    };
    let mut found: Vec<(Version, String)> = groups.lines().filter_map(name).collect();
    if !found.iter().any(|(v, _)| *v == Version::One) {
        found.extend(tree.text("proc/self/cpuset").map(|path| (Version::One, path)));
    }
    found
}

/// Mounted hierarchies that can have cpusets, as folders below the root.
fn mounts(tree: &Tree) -> Vec<(Version, String)> {
    let text = tree.text("proc/self/mounts").or_else(|| tree.text("proc/mounts")).unwrap_or_default();
    let mount = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let version = match kind {
            "cgroup2" => Version::Two,
            "cpuset" => Version::One,
            "cgroup" if options.split(',').any(|o| o == "cpuset") => Version::One,
            _ => return None,
        };
        // The kernel writes a space of a path as \040.
        Some((version, folder.trim_matches('/').replace("\\040", " "))).filter(|(_, folder)| !climbs(folder))
    };
    text.lines().filter_map(mount).take(MOUNTS_MAX).collect()
}

/// The file of the group, or of the nearest one above it that has it.
fn nearest(tree: &mut Tree, mount: &str, path: &str, files: &[String]) -> Option<(String, Ranges)> {
    let mut parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    loop {
        let folder = std::iter::once(mount).chain(parts.iter().copied()).collect::<Vec<_>>().join("/");
        for file in files.iter().map(|file| format!("{folder}/{file}")) {
            if let Some(set) = tree.list(&file).filter(|s| !s.is_empty()) {
                return Some((file, set));
            }
        }
        parts.pop()?;
    }
}
