// SPDX-License-Identifier: GPL-2.0-or-later
/* What the functions of a kernel stack tell about a sleep. */

#include "analysis/base/array.h"
#include "analysis/waits/kinds.h"

/* Recognises a function by the begin of its name. Each match in the list sets its hint. */
static const struct {
	const char *prefix;
	uint32_t hint;
} functions[] = {
    {"rwsem_down_", HINT_LOCK | HINT_OWNED},
    {"rwsem_spin_on_owner", HINT_LOCK | HINT_OWNED},
    {"rwsem_optimistic_spin", HINT_LOCK | HINT_OWNED},
    {"osq_lock", HINT_LOCK | HINT_OWNED},
    {"__mutex_lock", HINT_LOCK | HINT_OWNED},
    {"mutex_spin_on_owner", HINT_LOCK | HINT_OWNED},
    {"mutex_optimistic_spin", HINT_LOCK | HINT_OWNED},
    {"rt_mutex_slowlock", HINT_LOCK | HINT_OWNED},
    {"rtmutex_spin_on_owner", HINT_LOCK | HINT_OWNED},
    {"__ww_mutex_lock", HINT_LOCK},
    {"percpu_rwsem_wait", HINT_LOCK},
    {"percpu_down_", HINT_LOCK},
    {"__percpu_down", HINT_LOCK},
    {"__down", HINT_LOCK},
    {"native_queued_spin_lock_slowpath", HINT_LOCK},
    {"__pv_queued_spin_lock_slowpath", HINT_LOCK},
    {"queued_", HINT_LOCK},
    {"synchronize_rcu", HINT_GRACE},
    {"__wait_rcu_gp", HINT_GRACE},
    {"synchronize_srcu", HINT_GRACE},
    {"__synchronize_srcu", HINT_GRACE},
    {"rcu_barrier", HINT_GRACE},
    {"__flush_work", HINT_FLUSH},
    {"__flush_workqueue", HINT_FLUSH},
    {"flush_workqueue", HINT_FLUSH},
    {"unix_wait_for_peer", HINT_QUEUE_FULL},
    {"handle_mm_fault", HINT_PAGE},
    {"exc_page_fault", HINT_PAGE},
    {"asm_exc_page_fault", HINT_PAGE},
    {"do_user_addr_fault", HINT_PAGE},
    {"handle_userfault", HINT_PROVIDED},
    {"do_swap_page", HINT_SWAP},
    {"swapin_", HINT_SWAP},
    {"swap_cluster_readahead", HINT_SWAP},
    {"swap_vma_readahead", HINT_SWAP},
    {"shmem_swapin", HINT_SWAP},
    {"swap_read", HINT_SWAP},
    {"do_huge_pmd_", HINT_HUGE_PAGE},
    {"__do_huge_pmd_", HINT_HUGE_PAGE},
    {"clear_huge_page", HINT_HUGE_PAGE},
    {"vma_alloc_anon_folio_pmd", HINT_HUGE_PAGE},
    {"collapse_huge_page", HINT_HUGE_PAGE},
    {"hugetlb_no_page", HINT_HUGE_PAGE},
    {"hugetlb_fault", HINT_HUGE_PAGE},
    {"submit_bio", HINT_SUBMIT},
    {"__submit_bio", HINT_SUBMIT},
    {"blk_mq_submit_bio", HINT_SUBMIT},
    {"blk_finish_plug", HINT_SUBMIT},
    {"__blk_flush_", HINT_SUBMIT},
    {"blk_mq_run_hw_queue", HINT_SUBMIT},
    {"blk_mq_dispatch_", HINT_SUBMIT},
    {"io_schedule", HINT_IO},
    {"submit_bio_wait", HINT_IO},
    {"bit_wait_io", HINT_IO},
    {"pipe_read", HINT_PIPE_READ},
    {"anon_pipe_read", HINT_PIPE_READ},
    {"fifo_pipe_read", HINT_PIPE_READ},
    {"pipe_write", HINT_PIPE_WRITE},
    {"anon_pipe_write", HINT_PIPE_WRITE},
    {"fifo_pipe_write", HINT_PIPE_WRITE},
    {"fifo_open", HINT_FIFO},
    {"tty_read", HINT_TERMINAL},
    {"n_tty_read", HINT_TERMINAL},
    {"eventfd_read", HINT_EVENT},
    {"request_wait_answer", HINT_SERVED},
    {"__fuse_simple_request", HINT_SERVED},
    {"fuse_simple_request", HINT_SERVED},
    {"rpc_wait_bit_killable", HINT_SERVED},
    {"jbd2_", HINT_JOURNAL},
    {"do_get_write_access", HINT_JOURNAL},
    {"wait_transaction_locked", HINT_JOURNAL},
    {"xlog_", HINT_JOURNAL},
    {"xfs_log_force", HINT_JOURNAL},
    {"btrfs_commit_transaction", HINT_JOURNAL},
    {"btrfs_wait_for_commit", HINT_JOURNAL},
    {"balance_dirty_pages", HINT_THROTTLED},
    {"folio_wait_writeback", HINT_WRITEBACK},
    {"wait_on_page_writeback", HINT_WRITEBACK},
    {"__filemap_fdatawait_range", HINT_WRITEBACK},
    {"wb_wait_for_completion", HINT_WRITEBACK},
    /* not try_to_free_buffers(): truncating a file calls it, too */
    {"try_to_free_pages", HINT_RECLAIM},
    {"do_try_to_free_pages", HINT_RECLAIM},
    {"try_to_free_mem_cgroup", HINT_RECLAIM},
    {"shrink_node", HINT_RECLAIM},
    {"shrink_lruvec", HINT_RECLAIM},
    {"reclaim_throttle", HINT_RECLAIM},
    {"reclaim_high", HINT_RECLAIM},
    {"mem_cgroup_handle_over_high", HINT_RECLAIM},
    {"__mem_cgroup_handle_over_high", HINT_RECLAIM},
    {"__alloc_pages_direct_reclaim", HINT_RECLAIM},
    {"throttle_direct_reclaim", HINT_RECLAIM},
    {"throttle_vm_writeout", HINT_RECLAIM},
    {"compact_zone", HINT_COMPACTION},
    {"try_to_compact_", HINT_COMPACTION},
    {"__alloc_pages_direct_compact", HINT_COMPACTION},
    {"wait_for_vfork_done", HINT_VFORK},
    {"kthread", HINT_KTHREAD},
    {"worker_thread", HINT_KTHREAD},
    {"do_softirq", HINT_SOFTIRQ},
    {"__do_softirq", HINT_SOFTIRQ},
    {"handle_softirqs", HINT_SOFTIRQ},
    {"__dev_queue_xmit", HINT_SENDS},
    {"dev_queue_xmit", HINT_SENDS},
    {"ip_finish_output", HINT_SENDS},
    {"ip6_finish_output", HINT_SENDS},
    {"netif_rx", HINT_SENDS},
    {"__send_signal", HINT_SIGNAL},
    {"signal_wake_up_state", HINT_SIGNAL},
    {"do_notify_parent", HINT_CHILD},
    {"asm_sysvec_", HINT_INTERRUPT},
    {"sysvec_", HINT_INTERRUPT},
    {"common_interrupt", HINT_INTERRUPT},
    {"asm_common_interrupt", HINT_INTERRUPT},
    {"__irq_exit_rcu", HINT_INTERRUPT},
};

/* Functions between the one that wants a lock and the first one with HINT_LOCK. */
static const char *const lock_wrappers[] = {
    "down_",
    "__down_",
    "percpu_down_",
    "__percpu_down_",
    "mmap_read_lock",
    "mmap_write_lock",
    "mutex_lock",
    "_raw_",
    "__raw_",
    "do_raw_",
    "rwsem_",
    "rt_mutex_wait_proxy_lock",
    "lock_page_lruvec",
    "folio_lruvec_lock",
};

/* Functions that want a lock themselves which only they and the like want. To write to a file
 * system takes a lock that only a freeze of the file system takes from writers. */
static const struct {
	const char *prefix;
	uint32_t hint;
} lock_callers[] = {
    {"vm_mmap_pgoff", HINT_ADDRESS_SPACE},
    {"vm_munmap", HINT_ADDRESS_SPACE},
    {"__vm_munmap", HINT_ADDRESS_SPACE},
    {"vm_brk", HINT_ADDRESS_SPACE},
    {"do_mprotect_pkey", HINT_ADDRESS_SPACE},
    {"do_madvise", HINT_ADDRESS_SPACE},
    {"madvise_lock", HINT_ADDRESS_SPACE},
    {"lock_mm_and_find_vma", HINT_ADDRESS_SPACE},
    {"do_user_addr_fault", HINT_ADDRESS_SPACE},
    {"__do_sys_brk", HINT_ADDRESS_SPACE},
    {"__x64_sys_brk", HINT_ADDRESS_SPACE},
    {"__do_sys_mremap", HINT_ADDRESS_SPACE},
    {"__x64_sys_mremap", HINT_ADDRESS_SPACE},
    {"__mm_populate", HINT_ADDRESS_SPACE},
    {"do_mlock", HINT_ADDRESS_SPACE},
    {"dup_mm", HINT_ADDRESS_SPACE},
    {"exit_mmap", HINT_ADDRESS_SPACE},
    {"__access_remote_vm", HINT_ADDRESS_SPACE},
    {"vfs_write", HINT_FROZEN_FILES},
    {"vfs_iter_write", HINT_FROZEN_FILES},
    {"vfs_iocb_iter_write", HINT_FROZEN_FILES},
    {"do_iter_write", HINT_FROZEN_FILES},
    {"aio_write", HINT_FROZEN_FILES},
    {"io_write", HINT_FROZEN_FILES},
    {"vfs_fallocate", HINT_FROZEN_FILES},
    {"vfs_copy_file_range", HINT_FROZEN_FILES},
    {"do_sendfile", HINT_FROZEN_FILES},
    {"do_splice", HINT_FROZEN_FILES},
    {"do_ftruncate", HINT_FROZEN_FILES},
    {"do_sys_ftruncate", HINT_FROZEN_FILES},
    {"mnt_want_write", HINT_FROZEN_FILES},
    {"sb_start_", HINT_FROZEN_FILES},
    {"__sb_start_", HINT_FROZEN_FILES},
    {"ext4_page_mkwrite", HINT_FROZEN_FILES},
    {"filemap_page_mkwrite", HINT_FROZEN_FILES},
    {"btrfs_page_mkwrite", HINT_FROZEN_FILES},
};

static bool begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* What is known of the lock that function `name` of a stack wants. */
static uint32_t hint_of_lock(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(lock_callers); i++) {
		if (begins(name, lock_callers[i].prefix))
			return lock_callers[i].hint;
	}
	return 0;
}

/* Is a thread frozen that sleeps in this function? Cgroups of version 2, and older kernels, have no
 * state of a task for that. What get_signal() itself sleeps for is the freezer, whose function may
 * be inlined. */
static bool is_freezer(const char *name)
{
	return begins(name, "do_freezer_trap") || begins(name, "get_signal") ||
	       begins(name, "__refrigerator");
}

/* The functions of a stack that were read, outermost first. */
struct reading {
	uint32_t hints;
	const char *caller; /* the last one that is no wrapper of a lock */
	const char *last;   /* the last one that is none of the scheduler's */
	const char *wants;  /* the one that wants the lock; NULL: none */
};

static void function_read(struct reading *r, const char *name)
{
	bool locked = r->hints & HINT_LOCK;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		/* what a soft interrupt sends is an answer, and not what it runs for */
		if (functions[i].hint == HINT_SENDS && r->hints & HINT_SOFTIRQ)
			continue;
		if (begins(name, functions[i].prefix))
			r->hints |= functions[i].hint;
	}
	/* who polls a signalfd is told of an event: the signal itself does not wake it */
	if (begins(name, "ep_poll_callback") || begins(name, "pollwake"))
		r->hints &= ~(uint32_t)HINT_SIGNAL;
	if (r->hints & HINT_LOCK && !locked) {
		r->hints |= hint_of_lock(r->caller);
		r->wants = r->caller;
	}
	if (!any_of(i, ARRAY_SIZE(lock_wrappers), begins(name, lock_wrappers[i])))
		r->caller = name;
	if (!begins(name, "schedule") && !begins(name, "__schedule"))
		r->last = name;
}

static uint32_t hints_of(const struct reading *r)
{
	uint32_t hints = r->hints;

	/* the kernel leaves its lock functions out of the stacks of other tasks */
	if (hint_of_lock(r->caller) == HINT_ADDRESS_SPACE)
		hints |= HINT_LOCK | HINT_ADDRESS_SPACE;
	return hints | (is_freezer(r->last) ? HINT_FREEZER : 0u);
}

uint32_t wait_hints(const char *kernel)
{
	struct reading r = {.caller = "", .last = ""};

	while (*kernel) {
		function_read(&r, kernel);
		kernel += strcspn(kernel, ";");
		kernel += *kernel == ';';
	}
	return hints_of(&r);
}

uint32_t wait_hints_of(const char *const *names, uint32_t nr, const char **wants)
{
	struct reading r = {.caller = "", .last = ""};

	for (uint32_t i = nr; i-- > 0;)
		function_read(&r, names[i] ? names[i] : "");
	*wants = r.wants ? r.wants : "";
	return r.hints | (is_freezer(r.last) ? HINT_FREEZER : 0u);
}
