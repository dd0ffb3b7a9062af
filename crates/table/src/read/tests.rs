//! Tables that were written here and elsewhere, and damaged ones.
use super::*;
use crate::{Cell, Column, Format, Kind, TableFile};
use std::sync::Arc;

const ASKED: [Asked; 3] = [
    Asked { names: &["n"], words: false },
    Asked { names: &["missing"], words: false },
    Asked { names: &["w", "word"], words: true },
];

type Row = (Option<u64>, Option<String>);

fn all(mut reader: TableReader<'_>) -> Result<(Vec<Row>, Vec<String>), ReadError> {
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    while let Some(batch) = reader.next_batch()? {
        assert!(batch.rows <= BATCH_ROWS && batch.columns[1] == Cells::Missing);
        for row in 0..batch.rows {
            let word = batch.columns[2].word(row).map(|w| reader.word(w).to_owned());
            rows.push((batch.columns[0].count(row), word));
            places.push(batch.place(row));
        }
    }
    Ok((rows, places))
}

fn of_csv(text: &[u8]) -> Result<(Vec<Row>, Vec<String>), ReadError> {
    all(TableReader::csv(text, &ASKED)?)
}

fn of_parquet(bytes: Vec<u8>) -> Result<(Vec<Row>, Vec<String>), ReadError> {
    all(TableReader::parquet(Arc::new(bytes), &ASKED, |read| read())?)
}

/// A file of so many rows with absent cells and words that need quotes.
fn written(format: Format, rows: u64) -> Vec<u8> {
    let columns = vec![Column::new("x", Kind::Real), Column::new("word", Kind::Text), Column::new("n", Kind::Count)];
    let mut out = Vec::new();
    let mut file = TableFile::new(&mut out, format, columns).unwrap();
    for i in 0..rows {
        let (n, word) = cells(i);
        let word = word.as_deref().map_or(Cell::Absent, Cell::from);
        file.push([Cell::Real(0.5), word, n.map_or(Cell::Absent, Cell::Count)]).unwrap();
    }
    file.finish().unwrap();
    out
}

fn cells(i: u64) -> Row {
    let words = ["plain", "a,b", "say \"so\"", "two\nlines", "ä"];
    let word = (i % 3 != 1).then(|| words[(i / 7 % 5) as usize].to_owned());
    ((i % 5 != 2).then(|| u64::MAX - i), word)
}

#[test]
fn what_was_written_comes_back() {
    for rows in [0, 1, 4095, 4096, 4097, 10_000] {
        let expected: Vec<Row> = (0..rows).map(cells).collect();
        let (csv, places) = of_csv(&written(Format::Csv, rows)).unwrap();
        assert_eq!(csv, expected);
        assert_eq!(places.first().map(String::as_str), (rows > 0).then_some("line 2"));
        let (parquet, places) = of_parquet(written(Format::Parquet("t", 3000), rows)).unwrap();
        assert_eq!(parquet, expected);
        assert!((1..).zip(&places).all(|(i, place)| *place == format!("row {i}")));
    }
}

#[test]
fn text_of_other_programs_is_read() {
    let text = b"\xef\xbb\xbf n ,w,more\r\n0x10,\"q\"\"q\",1\r\n\r\n,\"a\r\nb\",2\n7,,3";
    let (rows, places) = of_csv(text).unwrap();
    let word = |w: &str| Some(w.to_owned());
    assert_eq!(rows, [(Some(16), word("q\"q")), (None, word("a\r\nb")), (Some(7), None)]);
    assert_eq!(places, ["line 2", "line 4", "line 6"]);
    let reader = TableReader::csv(&text[..], &ASKED).unwrap();
    assert_eq!((reader.others(), reader.has(0), reader.has(1)), (vec!["more"], true, false));
}

#[test]
fn errors_name_line_and_column() {
    let said = |text: &[u8]| of_csv(text).unwrap_err().to_string();
    assert!(said(b"").contains("names of its columns"));
    assert_eq!(
        said(b"n\n1\n-5\n"),
        "line 3, column n: '-5' is no whole number from 0 to 2^64 - 1 (decimal, or hexadecimal behind 0x)"
    );
    assert!(said(b"n\n18446744073709551616\n").contains("line 2, column n"));
    assert!(said(b"n\n0x\n").contains("line 2, column n") && said(b"w\n\xff\n").contains("line 2, column w"));
    assert!(said(b"n,w\n1,2\n1\n").contains("line 3: it has 1 cells, and the first line 2"));
    assert!(said(b"w\n\"a\nb").contains("line 2: a quote has no end"));
    assert!(said(b"w\n\"a\"b\n").contains("line 2") && said(b"w\na\"b\"\n").contains("line 2"));
    assert!(said(b"w\na\rb\n").contains("carriage return"));
    assert!(said(b"w,word\n").contains("twice"));
    let long = [b"w\n\"".to_vec(), vec![b'a'; 2 << 20]].concat();
    assert!(said(&long).contains("line 2: it is longer"));
    assert!(said(&[b",".repeat(5000), b"\n".to_vec()].concat()).contains("cells"));
    let damaged = of_parquet(b"PAR1....PAR1".to_vec()).unwrap_err().to_string();
    assert!(damaged.contains("damaged"), "{damaged}");
    let wrong = Asked { names: &["x"], words: false };
    let reader = TableReader::parquet(Arc::new(written(Format::Parquet("t", 10), 10)), &[wrong], |read| read());
    assert_eq!(reader.err().unwrap().to_string(), "column x is DOUBLE: whole numbers are needed");
}

#[test]
fn every_cut_and_every_changed_byte_of_a_parquet_file_is_survived() {
    let whole = written(Format::Parquet("t", 40), 100);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    for n in 0..whole.len() {
        assert!(of_parquet(whole[..n].to_vec()).is_err());
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let _ = of_parquet(bytes);
        }
    }
    std::panic::set_hook(hook);
}

fn counts(mut reader: TableReader<'_>) -> Result<Vec<Option<u64>>, ReadError> {
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        all.extend((0..batch.rows).map(|row| batch.columns[0].count(row)));
    }
    Ok(all)
}

/// Lines that are at hand whole are taken at once, others byte by byte: both must say the same, of rows and of errors.
#[test]
fn lines_at_once_and_byte_by_byte_are_the_same() {
    let cells = [
        "7",
        "",
        "0x1f",
        "18446744073709551615",
        "18446744073709551616",
        "a b",
        "+",
        "\"a,b\"",
        "\"x\"\"y\"",
        "\"two\nlines\"",
        "-1",
        "ä",
        "a\"b",
    ];
    let ends = ["\n", "\r\n", "\n\n", ",\n", "\r"];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut good, mut bad) = (0, 0);
    for case in 0..3000 {
        let mut text = "n,w,more\n".to_owned();
        for _ in 0..next(8) {
            // Mostly what is right; sometimes anything.
            let n = if next(12) > 0 { cells[next(4)] } else { cells[next(cells.len())] };
            let w = cells[[0, 5, 7, 8, 9, 11][next(6)]];
            text += &format!("{n},{w},{}{}", cells[next(7)], if next(12) > 0 { ends[next(2)] } else { ends[next(5)] });
        }
        let whole = of_csv(text.as_bytes());
        let piecewise = std::io::BufReader::with_capacity(1 + case % 7, text.as_bytes());
        let piecewise = TableReader::csv(piecewise, &ASKED).and_then(all);
        assert_eq!(whole, piecewise, "{text:?}");
        let glance = |capacity| {
            let text = std::io::BufReader::with_capacity(capacity, text.as_bytes());
            TableReader::csv(text, &ASKED[..1]).and_then(|table| counts(table.glancing()))
        };
        let glanced = glance(1 + case % 7);
        assert_eq!(glance(1 << 16), glanced, "{text:?}");
        if let Ok((rows, _)) = &whole {
            assert_eq!(glanced, Ok(rows.iter().map(|row| row.0).collect()), "{text:?}");
        }
        if whole.is_ok() { good += 1 } else { bad += 1 }
    }
    assert!(good > 500 && bad > 500, "{good} {bad}");
}

#[test]
fn a_page_that_claims_gigabytes_is_refused_before_they_are_taken() {
    let mut whole = Vec::new();
    let mut file = TableFile::new(&mut whole, Format::Parquet("t", 100), vec![Column::new("n", Kind::Count)]).unwrap();
    (0..50).for_each(|i| file.push([Cell::Count(i)]).unwrap());
    file.finish().unwrap();
    assert_eq!(of_parquet(whole.clone()).unwrap().0.len(), 50);
    // The first page begins behind the magic number: its kind, then how long it is unpacked, a number of one or two bytes.
    assert_eq!((whole[4], whole[6]), (0x15, 0x15));
    let length = 1 + usize::from(whole[7] >= 0x80);
    for (claim, what) in
        [(&[0xfe, 0xff, 0xff, 0xff, 0x0f][..], "claims 2147483647 bytes"), (&[1], "cannot be understood")]
    {
        let bad = [&whole[..7], claim, &whole[7 + length..]].concat();
        let why = of_parquet(bad).unwrap_err().to_string();
        assert!(why.contains("page of column n") && why.contains(what), "{why}");
    }
}
