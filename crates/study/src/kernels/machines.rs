//! Any number of machines: in vectors of equal kind, each with the numbers that it needs.
use super::replication::Replication;
use super::solo::Solo;
use super::{Machines, Num, Parameters, WIDTH};
use crate::fold::coarse::Ops;
use homenode_base::TotalCost;
use homenode_placement::{Start, Step};
use pulp::{Arch, Simd, WithSimd};

/// A dynamic program over the accesses of blocks on some machines.
pub(crate) trait Kernel<A: ?Sized>: Sized {
    fn narrow(machines: Vec<Machines<i32>>, nodes: usize, start: Start) -> Self;
    fn wide(machines: Vec<Machines<i64>>, nodes: usize, start: Start) -> Self;
    fn block(&mut self, arch: Arch, accesses: &A);
    fn sums(&self) -> Vec<[i128; WIDTH]>;
}

/// A kernel with one kind of numbers or the other.
pub(crate) enum Either<N, W> {
    Narrow(N),
    Wide(W),
}

/// One block, as what the vector library compiles for every kind of processor.
struct Block<'a, K, A: ?Sized> {
    kernel: &'a mut K,
    accesses: &'a A,
}

macro_rules! kernel {
    ($name:ident, $accesses:ty, $new:expr) => {
        impl<T: Num> WithSimd for Block<'_, $name<T>, $accesses> {
            type Output = ();
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) {
                self.kernel.block(self.accesses);
            }
        }
        impl Kernel<$accesses> for Either<$name<i32>, $name<i64>> {
            fn narrow(machines: Vec<Machines<i32>>, nodes: usize, start: Start) -> Self {
                Either::Narrow($new(machines, nodes, start))
            }
            fn wide(machines: Vec<Machines<i64>>, nodes: usize, start: Start) -> Self {
                Either::Wide($new(machines, nodes, start))
            }
            fn block(&mut self, arch: Arch, accesses: &$accesses) {
                match self {
                    Either::Narrow(kernel) => arch.dispatch(Block { kernel, accesses }),
                    Either::Wide(kernel) => arch.dispatch(Block { kernel, accesses }),
                }
            }
            fn sums(&self) -> Vec<[i128; WIDTH]> {
                match self {
                    Either::Narrow(kernel) => kernel.sums(),
                    Either::Wide(kernel) => kernel.sums(),
                }
            }
        }
    };
}
kernel!(Replication, Ops, Replication::new);
kernel!(Solo, [Step], |machines, nodes, _| Solo::new(machines, nodes));

/// The optimum with replication.
pub(crate) type WithReplication = Chunks<Either<Replication<i32>, Replication<i64>>>;
/// The optimum without.
pub(crate) type WithoutReplication = Chunks<Either<Solo<i32>, Solo<i64>>>;

/// Machines at one block size, those of one kind in a kernel.
pub(crate) struct Chunks<K> {
    arch: Arch,
    chunks: Vec<(Vec<(u32, Parameters)>, K)>,
}

impl<K> Chunks<K> {
    /// Of these machines, by their place in the question.
    pub(crate) fn new<A: ?Sized>(mut machines: Vec<(u32, Parameters)>, start: Start, arch: Arch) -> Chunks<K>
    where
        K: Kernel<A>,
    {
        let kind = |p: &Parameters| (p.global.is_some(), p.limit > <i32 as Num>::LIMIT);
        machines.sort_by_key(|(_, p)| kind(p));
        let mut chunks = Vec::new();
        for alike in machines.chunk_by(|(_, a), (_, b)| kind(a) == kind(b)) {
            let parameters: Vec<Parameters> = alike.iter().map(|(_, p)| *p).collect();
            let nodes = parameters.iter().map(|p| p.nodes).max().unwrap_or(0);
            let kernel = match kind(&parameters[0]).1 {
                false => K::narrow(parameters.chunks(WIDTH).map(Machines::new).collect(), nodes, start),
                true => K::wide(parameters.chunks(WIDTH).map(Machines::new).collect(), nodes, start),
            };
            chunks.push((alike.to_vec(), kernel));
        }
        Chunks { arch, chunks }
    }

    /// One block.
    #[inline]
    pub(crate) fn block<A: ?Sized>(&mut self, accesses: &A)
    where
        K: Kernel<A>,
    {
        for (_, kernel) in &mut self.chunks {
            kernel.block(self.arch, accesses);
        }
    }

    /// Machines and costs, after so many reads and writes.
    pub(crate) fn costs<A: ?Sized>(&self, accesses: [u64; 2]) -> Vec<(u32, TotalCost)>
    where
        K: Kernel<A>,
    {
        let cost = |((machine, p), excess): (&(u32, Parameters), i128)| {
            let near = p.near[0].times(accesses[0]) + p.near[1].times(accesses[1]);
            (*machine, near + TotalCost(excess))
        };
        let all = self.chunks.iter();
        all.flat_map(|(machines, kernel)| machines.iter().zip(kernel.sums().into_flattened()).map(cost)).collect()
    }
}
