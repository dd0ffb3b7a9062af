//! Index newtypes. Each is dense: 0 to count - 1 within one dataset or machine.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $repr);
        impl $name {
            /// The id as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(/** A thread of a dataset, in order of first appearance; thread 0 is the initial thread of the first process. */ ThreadId(u32));
id!(/** A memory node of a machine; every node also has processors unless the machine says otherwise. */ NodeId(u16));
id!(/** A processor (core) of a machine. */ CpuId(u16));
id!(/** A code location that makes references: an index into the dataset's site table. */ SiteId(u32));
