//! Objects of pthreads in shared memory are refused: each node would have one of its own, and threads of different nodes would never meet.
//! Every other call is passed on.
use crate::give_up_in;
use crate::lookup::{behind, behind_cond};
use homenode_svm::heap;
use libc::{pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, sem_t, timespec};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Ends the program if an object lies in shared memory.
fn refuse<T>(object: *const T, called: &str, instead: &str) {
    if heap::range().contains(&(object.addr() as u64)) {
        let address = object.addr();
        give_up_in(
            called,
            &format!(
                "its object at {address:#x} lies in shared memory, where pthreads synchronise one node only: use {instead}"
            ),
        );
    }
}

/// Declares functions in front of those of the C library, whose first argument is the object.
macro_rules! refused {
    ($($finder:ident $name:ident($object:ident: $type:ty $(, $more:ident: $m:ty)*), $instead:literal;)+) => {$(
        /// Passes the call on, unless the object lies in shared memory.
        ///
        /// # Safety
        /// As the C library's.
        // SAFETY: nothing but this call of the C library's function needs what its caller promises.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($object: *mut $type $(, $more: $m)*) -> c_int {
            type Next = unsafe extern "C" fn(*mut $type $(, $m)*) -> c_int;
            static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            refuse($object, stringify!($name), $instead);
            let mut at = NEXT.load(Ordering::Acquire);
            if at.is_null() {
                // Nothing is allocated: a program's own malloc may take a mutex.
                at = $finder(concat!(stringify!($name), "\0"));
                NEXT.store(at, Ordering::Release);
            }
            // SAFETY: the C library's function of this name has this type; without one the option is empty.
            let next = unsafe { std::mem::transmute::<*mut c_void, Option<Next>>(at) };
            match next {
                // SAFETY: the caller's arguments are passed on as they are.
                Some(next) => unsafe { next($object $(, $more)*) },
                None => libc::ENOSYS,
            }
        }
    )+};
}

refused! {
    behind pthread_mutex_lock(mutex: pthread_mutex_t), "homenode_lock";
    behind pthread_mutex_trylock(mutex: pthread_mutex_t), "homenode_lock";
    behind pthread_mutex_timedlock(mutex: pthread_mutex_t, until: *const timespec), "homenode_lock";
    behind pthread_spin_lock(spin: pthread_spinlock_t), "homenode_lock";
    behind pthread_rwlock_rdlock(rwlock: pthread_rwlock_t), "homenode_lock";
    behind pthread_rwlock_wrlock(rwlock: pthread_rwlock_t), "homenode_lock";
    behind pthread_barrier_wait(barrier: pthread_barrier_t), "homenode_barrier";
    behind_cond pthread_cond_wait(cond: pthread_cond_t, mutex: *mut pthread_mutex_t), "homenode_cond_wait";
    behind_cond pthread_cond_timedwait(cond: pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec), "homenode_cond_wait";
    behind_cond pthread_cond_signal(cond: pthread_cond_t), "homenode_cond_signal";
    behind_cond pthread_cond_broadcast(cond: pthread_cond_t), "homenode_cond_broadcast";
    behind sem_wait(semaphore: sem_t), "homenode_cond_wait";
    behind sem_post(semaphore: sem_t), "homenode_cond_signal";
}
