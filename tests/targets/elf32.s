# SPDX-License-Identifier: GPL-2.0-or-later
# A 32-bit program without a C library: writes a byte to nowhere and sleeps 10 ms, for ever.
	.text
	.globl _start
	.type _start, @function
_start:
	call work
	mov $162, %eax			# nanosleep
	mov $pause, %ebx
	xor %ecx, %ecx
	int $0x80
	jmp _start
	.size _start, . - _start
	.globl work
	.type work, @function
work:
	push %ebx
	mov $4, %eax			# write
	mov $-1, %ebx
	mov $pause, %ecx
	mov $1, %edx
	int $0x80
	pop %ebx
	ret
	.size work, . - work
	.data
pause:	.long 0, 10000000
