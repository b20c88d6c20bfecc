// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/walk/names.h"

/* Returns true if the function has one of the names, exactly or followed by a character of `ends`
 * (a version or parameters). */
static bool is_one_of(const char *function, const char *const *names, size_t nr, const char *ends)
{
	for (size_t i = 0; i < nr; i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(function, names[i], n) && (!function[n] || strchr(ends, function[n])))
			return true;
	}
	return false;
}

bool walk_name_starts(const char *function)
{
	static const char *const starts[] = {"_start",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "__libc_start_call_main",
					     "generic_start_main",
					     "libc_start_main_stage2",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "__GI___clone3",
					     "thread_start",
					     "_dl_start_user",
					     "runtime.goexit",
					     "runtime.goexit.abi0",
					     "runtime.rt0_go",
					     "runtime.rt0_go.abi0",
					     "runtime.mstart",
					     "runtime.mstart.abi0",
					     "execute_native_thread_routine"};

	return is_one_of(function, starts, sizeof(starts) / sizeof(starts[0]), "@");
}

bool walk_name_takes_lock(const char *function)
{
	static const char *const locks[] = {"take_gil",
					    "PyEval_RestoreThread",
					    "PyEval_AcquireThread",
					    "PyGILState_Ensure",
					    "pthread_mutex_lock",
					    "__pthread_mutex_lock",
					    "__lll_lock_wait",
					    "pthread_rwlock_rdlock",
					    "pthread_rwlock_wrlock",
					    "__pthread_rwlock_rdlock",
					    "__pthread_rwlock_wrlock",
					    "ObjectMonitor::enter",
					    "ObjectMonitor::EnterI",
					    "ObjectMonitor::enter_internal",
					    "ObjectSynchronizer::enter",
					    "Monitor::lock",
					    "Mutex::lock",
					    "LWLockAcquire",
					    "ProcSleep",
					    "LockAcquireExtended",
					    "lock_wait_suspend_thread",
					    "lock_wait",
					    "runtime.lock2",
					    "sync.runtime_SemacquireMutex",
					    "sync.(*Mutex).lockSlow",
					    "std::sys::sync::mutex::futex::Mutex::lock_contended",
					    "parking_lot::raw_mutex::RawMutex::lock_slow"};

	return is_one_of(function, locks, sizeof(locks) / sizeof(locks[0]), "@(");
}

bool walk_name_waits_for_condition(const char *function)
{
	static const char *const waits[] = {"pthread_cond_timedwait", "pthread_cond_clockwait",
					    "pthread_cond_wait"};

	return is_one_of(function, waits, sizeof(waits) / sizeof(waits[0]), "@");
}

bool walk_name_schedules(const char *function)
{
	static const char *const schedulers[] = {"runtime.schedule", "runtime.findRunnable",
						 "runtime.findrunnable"};

	return is_one_of(function, schedulers, sizeof(schedulers) / sizeof(schedulers[0]), "");
}

bool walk_name_is_python(const char *module)
{
	return !strncmp(module, "python3", 7) || !strncmp(module, "libpython3", 10);
}

bool walk_name_is_libc(const char *module)
{
	return !strncmp(module, "libc.so", 7) || !strncmp(module, "libc-2", 6) ||
	       !strncmp(module, "libpthread", 10) || !strncmp(module, "ld-linux", 8) ||
	       !strncmp(module, "ld-musl", 7) || !strncmp(module, "libc.musl", 9);
}
