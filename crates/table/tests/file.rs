//! Files of tables: what is written is read again, and what cannot be written is an error.
use homenode_table::{Cell, Column, Format, Kind, TableFile};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;

fn columns() -> Vec<Column> {
    let optional = [("c", Kind::Text), ("d", Kind::Real), ("e", Kind::Flag), ("f", Kind::Count16)];
    let wide = [Column::new("a", Kind::Wide).required(), Column::new("b", Kind::Count)];
    wide.into_iter().chain(optional.map(|(name, kind)| Column::new(name, kind))).collect()
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for format in [Format::Csv, Format::Parquet("t", 10)] {
        let e = TableFile::new(full(), format, columns()).and_then(TableFile::finish).map_err(|e| e.to_string());
        assert!(e.is_err_and(|e| e.contains("No space left")));
    }
}

#[test]
fn what_is_written_is_read_again_in_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut file = TableFile::new(File::create(&path).unwrap(), Format::Parquet("t", 2), columns()).unwrap();
    for n in 0..5_u64 {
        let cost = Cell::Wide(i128::from(n) << 80);
        let some = |c: Cell<'static>| if n % 2 == 0 { c } else { Cell::Absent };
        let rest = [some(u64::MAX.into()), some("ä,b".into()), some(0.5.into()), some(true.into()), some(7_u64.into())];
        file.push(std::iter::once(cost).chain(rest)).unwrap();
    }
    file.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
    assert_eq!(rows[1], "{a: 1208925819614629174706176., b: null, c: null, d: null, e: null, f: null}");
    assert_eq!(rows[2].split(", ").nth(1), Some("b: 18446744073709551615"));
    assert!(rows[4].ends_with("c: \"ä,b\", d: 0.5, e: true, f: 7}"), "{}", rows[4]);
}

#[test]
fn a_row_without_a_cell_that_every_row_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("t.parquet")).unwrap();
    let mut file = TableFile::new(file, Format::Parquet("t", 2), columns()).unwrap();
    file.push([Cell::Absent]).unwrap();
    assert!(file.finish().is_err());
}
