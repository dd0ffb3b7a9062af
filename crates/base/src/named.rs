//! Members of families with whole-number parameters, as they are named on the command line: `name`, `name(1,2)`.
use std::fmt;

/// A whole-number parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name, for lists and errors.
    pub name: &'static str,
    /// What it does, one line.
    pub summary: &'static str,
    /// Value when none is given.
    pub default: u32,
    /// Least value allowed.
    pub min: u32,
    /// Largest value allowed.
    pub max: u32,
    /// Whether it chooses a variant: then the value is written out only where it is not the default.
    pub variant: bool,
}

/// Why values are not those of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamError {
    /// Not of the form `name` or `name(1,2)`; parentheses with nothing in them are not.
    Syntax,
    /// More values than parameters.
    TooMany {
        /// Parameters.
        takes: usize,
        /// Values given.
        given: usize,
    },
    /// A value outside its range.
    Range {
        /// The parameter.
        param: Param,
        /// What was written.
        value: String,
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Syntax => f.write_str("write a name, or a name and whole numbers: name(1,2)"),
            ParamError::TooMany { takes: 0, .. } => f.write_str("it takes no parameter"),
            ParamError::TooMany { takes, given } => write!(f, "it takes at most {takes} parameter(s), not {given}"),
            ParamError::Range { param, value } => {
                write!(f, "{} is {value}; allowed is {} to {}", param.name, param.min, param.max)
            }
        }
    }
}

impl PartialEq for Param {
    fn eq(&self, other: &Param) -> bool {
        self.name == other.name
    }
}

impl Eq for Param {}

impl Param {
    /// One that chooses a variant, from 0.
    pub const fn variant(name: &'static str, summary: &'static str, default: u32, max: u32) -> Param {
        Param { name, summary, default, min: 0, max, variant: true }
    }
}

/// A name, and what stands in the parentheses after it, if there are any.
///
/// # Errors
/// The parentheses are not closed at the end.
pub fn split(text: &str) -> Result<(&str, Option<&str>), ParamError> {
    match text.trim().split_once('(') {
        None => Ok((text.trim(), None)),
        Some((name, rest)) => Ok((name.trim_end(), Some(rest.strip_suffix(')').ok_or(ParamError::Syntax)?))),
    }
}

/// One value per parameter from what stands in parentheses, missing ones at their defaults.
///
/// # Errors
/// No whole numbers, too many of them, or one out of range.
pub fn read(params: &[Param], list: Option<&str>) -> Result<Vec<u32>, ParamError> {
    let mut values = Vec::new();
    for (i, value) in list.into_iter().flat_map(|l| l.split(',').map(str::trim)).enumerate() {
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ParamError::Syntax);
        }
        values.push(match (value.parse::<u32>(), params.get(i)) {
            (Ok(v), _) => v,
            (Err(_), Some(p)) => return Err(ParamError::Range { param: *p, value: value.into() }),
            (Err(_), None) => return Err(ParamError::Syntax),
        });
    }
    choose(params, &values)
}

/// One value per parameter, missing ones at their defaults.
///
/// # Errors
/// Too many of them, or one out of range.
pub fn choose(params: &[Param], given: &[u32]) -> Result<Vec<u32>, ParamError> {
    if given.len() > params.len() {
        return Err(ParamError::TooMany { takes: params.len(), given: given.len() });
    }
    let mut values: Vec<u32> = params.iter().map(|p| p.default).collect();
    for (i, (&value, p)) in given.iter().zip(params).enumerate() {
        if !(p.min..=p.max).contains(&value) {
            return Err(ParamError::Range { param: *p, value: value.to_string() });
        }
        values[i] = value;
    }
    Ok(values)
}

/// Writes a name as [`split`] and [`read`] take it; values that choose variants up to the last one that is not the default.
///
/// # Errors
/// Those of the formatter.
pub fn write(f: &mut fmt::Formatter<'_>, name: &str, params: &[Param], values: &[u32]) -> fmt::Result {
    let said = |(p, value): (&Param, &u32)| !p.variant || *value != p.default;
    let Some(last) = params.iter().zip(values).rposition(said) else {
        return f.write_str(name);
    };
    let values: Vec<String> = values[..=last].iter().map(u32::to_string).collect();
    write!(f, "{name}({})", values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: [Param; 2] = [
        Param { name: "n", summary: "a number", default: 4, min: 1, max: 9, variant: false },
        Param::variant("how", "a way", 0, 1),
    ];

    struct Shown(Vec<u32>);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(f, "x", &PARAMS, &self.0)
        }
    }

    fn values(text: &str) -> Result<Vec<u32>, ParamError> {
        split(text).and_then(|(_, list)| read(&PARAMS, list))
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (text, expected, shown) in [
            (" x ", [4, 0], "x(4)"),
            ("x(7)", [7, 0], "x(7)"),
            ("x ( 7 , 1 )", [7, 1], "x(7,1)"),
            ("x(4,0)", [4, 0], "x(4)"),
        ] {
            assert_eq!(split(text).map(|(name, _)| name), Ok("x"));
            assert_eq!(values(text), Ok(expected.to_vec()));
            assert_eq!(Shown(expected.to_vec()).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in
            ["x(", "x(1", "x()", "x( )", "x(1,)", "x(,1)", "x(+1)", "x(-1)", "x(a)", "x(1)y", "x(1,1,99999999999)"]
        {
            assert_eq!(values(text), Err(ParamError::Syntax), "{text}");
        }
        assert_eq!(values("x(1,1,1)"), Err(ParamError::TooMany { takes: 2, given: 3 }));
        for text in ["x(0)", "x(10)", "x(99999999999)"] {
            assert!(matches!(values(text), Err(ParamError::Range { param, .. }) if param.name == "n"), "{text}");
        }
    }
}
