//! Datasets on disk.
use homenode_trace::store::Store;
use std::path::Path;

/// Writes a dataset in memory to a folder.
pub(crate) fn write(store: &dyn Store, to: &Path) {
    for name in store.names().expect("names") {
        let path = to.join(&name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        let file = store.open(&name).expect("a file it named");
        let mut bytes = vec![0; file.len().expect("length") as usize];
        assert_eq!(file.read_at(0, &mut bytes).expect("bytes"), bytes.len());
        std::fs::write(path, bytes).expect("written");
    }
}
