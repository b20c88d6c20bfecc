/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Minimal hand-written definitions of the kernel types that the BPF programs read. CO-RE
 * relocates the field offsets at load time, so only names and types matter.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef int pid_t;
typedef _Bool bool;
#define true 1
#define false 0

/* uapi constants: BTF does not contain macros */
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

/* Registers of x86-64. The ABI of perf events fixes the layout, so offsets need no relocation. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period;
	u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_info {
	u64 run_delay;
	u64 last_arrival;
	u64 last_queued;
};
struct net {
	struct {
		u32 inum;
	} ns;
};
struct sock_common {
	struct {
		struct net *net;
	} skc_net;
	unsigned short skc_family, skc_num;
	volatile unsigned char skc_state;
	__be16 skc_dport;
	__be32 skc_daddr, skc_rcv_saddr;
	struct {
		unsigned char in6_u[16];
	} skc_v6_daddr, skc_v6_rcv_saddr;
};
struct upid {
	int nr;
};
struct pid {
	unsigned int level; /* 0: not in a namespace */
	struct upid numbers[1];
};
struct socket;
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol, sk_type;
	int sk_err;
	struct pid *sk_peer_pid;
	struct socket *sk_socket;
	struct {
		u32 qlen;
	} sk_receive_queue;
	u32 sk_ack_backlog, sk_max_ack_backlog;
	struct {
		int counter;
	} sk_drops;
};
struct inet_connection_sock {
	struct {
		u32 lrcvtime;
	} icsk_ack;
};
struct tcp_sock {
	u32 total_retrans;
	u32 lsndtime;
	u32 mss_cache, packets_out;
	u32 snd_nxt, write_seq;
	unsigned char nonagle : 4;
	u32 data_segs_in, data_segs_out;
};
struct unix_address {
	int len;
	struct sockaddr_un {
		unsigned short sun_family;
		char sun_path[108];
	} name[1];
};
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};
struct socket {
	struct sock *sk;
	struct file *file;
};
struct rw_semaphore {
	struct {
		s64 counter;
	} owner;
};
struct mutex {
	struct {
		s64 counter;
	} owner;
};
struct file_system_type {
	const char *name;
};
struct super_block {
	unsigned long s_magic;
	struct file_system_type *s_type;
};
struct list_head {
	struct list_head *next;
};
/* A lock on a file: until 6.8, and since 6.9. */
struct file_lock___old {
	struct list_head fl_list;
	unsigned char fl_type;
	unsigned int fl_pid;
	s64 fl_start, fl_end;
};
struct file_lock_core {
	struct list_head flc_list;
	unsigned char flc_type;
	int flc_pid;
};
struct file_lock {
	struct file_lock_core c;
	s64 fl_start, fl_end;
};
struct file_lock_context {
	struct list_head flc_flock, flc_posix;
};
struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	s64 i_size;
	struct file_lock_context *i_flctx;
	struct super_block *i_sb;
	struct rw_semaphore i_rwsem;
};
struct epoll_filefd {
	struct file *file;
	int fd;
};
struct rb_node {
	struct rb_node *rb_right, *rb_left;
};
struct rb_root {
	struct rb_node *rb_node;
};
struct rb_root_cached {
	struct rb_root rb_root;
};
struct epitem {
	struct rb_node rbn;
	struct list_head rdllink;
	struct epoll_filefd ffd;
};
struct eventpoll {
	struct list_head rdllist;
	struct rb_root_cached rbr;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct qstr d_name;
};
struct path {
	struct dentry *dentry;
};
struct file {
	struct inode *f_inode;
	unsigned int f_mode, f_flags;
	struct path f_path;
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct kernfs_node {
	const char *name;
	struct kernfs_node *parent;   /* until 6.14 */
	struct kernfs_node *__parent; /* since 6.14 */
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
enum cgroup_subsys_id { memory_cgrp_id = 4, freezer_cgrp_id = 6 };
struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};
struct page_counter {
	struct {
		s64 counter;
	} usage;
	unsigned long high, max;
};
struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
};
struct rq;
struct cfs_rq {
	struct rq *rq;
	int throttled; /* a bit in newer kernels */
	int throttle_count;
};
struct cfs_bandwidth {
	s64 period;
	u64 quota;
};
struct rt_bandwidth {
	s64 rt_period;
	u64 rt_runtime;
};
struct rt_rq {
	int rt_throttled;
};
struct sched_rt_entity {
	struct rt_rq *rt_rq; /* of kernels with groups of real-time threads */
};
struct sched_dl_entity {
	u64 dl_runtime, dl_period;
	unsigned int dl_throttled : 1;
};
struct task_group {
	struct cgroup_subsys_state css;
	struct rt_rq **rt_rq;
	struct rt_bandwidth rt_bandwidth;
	struct cfs_rq **cfs_rq;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};
struct xol_area {
	unsigned long vaddr;
};
struct mm_struct {
	struct rw_semaphore mmap_lock;
	struct {
		struct xol_area *xol_area;
	} uprobes_state;
};
/* An open call of a function with a return probe. */
struct return_instance {
	unsigned long stack;	      /* address of the place of its return address */
	unsigned long orig_ret_vaddr; /* true return address */
	struct return_instance *next;
};
struct uprobe_task {
	struct return_instance *return_instances;
};
struct sigaction {
	void *sa_handler;
};
struct k_sigaction {
	struct sigaction sa;
};
struct backing_dev_info {
	char dev_name[64];
};
struct bdi_writeback {
	struct backing_dev_info *bdi;
};
struct thread_info {
	u32 cpu;
};
/* What the threads of a process share; its sums are those of ended threads. */
struct signal_struct {
	struct {
		int counter;
	} live; /* threads that have not ended */
	unsigned int flags;
	int group_exit_code;
	unsigned long min_flt, maj_flt;
	unsigned long long sum_sched_runtime;
};
struct task_struct {
	struct thread_info thread_info; /* has `cpu` since 5.16 */
	unsigned int cpu;		/* until then */
	unsigned int flags;
	bool throttled; /* since 6.18 tasks are throttled, not queues */
	unsigned long jobctl;
	unsigned int frozen; /* a bit; only of the freezer of cgroup v2 */
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	struct task_struct *parent;
	struct task_struct *real_parent;
	int on_cpu;
	void *stack; /* its lower end */
	int exit_state, exit_code;
	int nr_dirtied;
	struct files_struct *files;
	u64 timer_slack_ns;
	unsigned in_iowait : 1;
	pid_t pid;
	pid_t tgid;
	struct pid *thread_pid;
	unsigned int __state;
	int prio;
	unsigned int policy;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	u64 start_time, start_boottime;
	struct signal_struct *signal;
	struct {
		u64 sum_exec_runtime, prev_sum_exec_runtime;
		u64 nr_migrations;
		struct cfs_rq *cfs_rq;
	} se;
	struct sched_info sched_info;
	char comm[16];
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
struct kallsym_iter {
	unsigned long value;
	char type;
	char name[512];
};
struct bpf_iter__ksym { /* since 6.0 */
	struct bpf_iter_meta *meta;
	struct kallsym_iter *ksym;
};

struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct io_cqe {
	__s32 res;
	int fd; /* until the completion */
};

struct io_kiocb {
	u8 opcode;
	u32 flags; /* its low half, if it has 64 bits */
	struct io_cqe cqe;
};

/* Bits of request.cmd_flags, relocated as fields are. */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
	__REQ_BACKGROUND,
};
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
};

struct hrtimer {
	void *function;
};
struct timer_list {
	void *function;
};
struct work_struct {
	void *func;
};

#pragma clang attribute pop
