# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes on in another context than the call that waits for it, in a guest: reads beside a journal that commits (DARC's case), from both sides."""
from case_into_kernel import *

CASES.clear()  # those of the other file

# a wait for it is longer than the emulated processor takes for anything else
SLOWER_DISK = ("-D", "64M,throttling.iops-total=50")

# reads of a file in the page cache; each read after a tick of the clock changes the time of access, and for this its inode's buffer in the journal
READER = "mount -o remount,strictatime /mnt; mkdir /mnt/b; " + begin_paths("reads") + "; r=$a"
# records that another process stores: each makes the journal commit
FLUSHER = begin_paths("sync", place="/mnt/b") + "; f=$a"


def tell(document):
    for path in document["paths"]:
        print("# %.2f %s %s beside: %s" % (path["share"], path["cause"], [f["function"] for f in path["frames"]],
                                           [s["function"] for s in path.get("siblings", [])]), flush=True)


@live("reads beside a process that fsyncs: the slow ones wait until the journal has written the inode of their file")
def reader():
    document = descend("%s; %s; a=$r" % (READER, FLUSHER), "-p $r -f read_record --peak 8ms-9s", "kernel_paths", options=SLOWER_DISK)
    tell(document)
    expect(document, "read_record", "syscall:pread64", "vfs_read", "touch_atime", "ext4_dirty_inode", "jbd2_journal_get_write_access", "do_get_write_access")
    for path in document["paths"]:
        if path["cause"]["kind"] == "io":
            equal("what it waits for", (path["cause"]["wait"], path["cause"]["name"]), ("waiting for the journal", "/mnt/file"))
            for requests in path.get("block_requests", []):  # those of the journal's thread, once it is followed
                equal("what they do", requests.get("operation"), "write")


@live("the other side, without a process: the commit waits until what it has submitted is on the disk")
def commit():
    document = descend("%s; %s; a=$f" % (READER, FLUSHER), "--host -f kernel:jbd2_journal_commit_transaction --peak 8ms-9s", "kernel_paths",
                       options=SLOWER_DISK)
    tell(document)
    equal("the target", document["target"]["pid"], 0)
    expect(document, "jbd2_journal_commit_transaction", "out_of_line_wait_on_bit", "io_schedule")
    for path in document["paths"]:
        if "out_of_line_wait_on_bit" in [f["function"] for f in path["frames"]]:
            equal("what it waits for", path["cause"].get("wait"), "waiting for the journal")


if __name__ == "__main__":
    main()
