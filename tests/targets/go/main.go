// SPDX-License-Identifier: GPL-2.0-or-later

// gotarget [-w] [CALLS]: goroutines that call main.Work, which grows (and so moves) its stack in the middle.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var calls, deep int64

//go:noinline
func grow(n int) int {
	var pad [512]byte
	pad[n%512] = byte(n)
	if n == 0 {
		atomic.AddInt64(&deep, 1)
		return int(pad[0])
	}
	return grow(n-1) + int(pad[n%512])
}

//go:noinline
func Work(n int) int {
	atomic.AddInt64(&calls, 1)
	return grow(n%40) + n
}

func main() {
	args := os.Args[1:]
	wait := len(args) > 0 && args[0] == "-w"
	if wait {
		args = args[1:]
	}
	total := 20000
	if len(args) > 0 {
		total, _ = strconv.Atoi(args[0])
	}
	in := bufio.NewReader(os.Stdin)
	if wait {
		fmt.Printf("ready %d\n", os.Getpid())
		in.ReadString('\n')
	}
	const chunk = 50
	var group sync.WaitGroup
	slots := make(chan bool, 8)
	for i := 0; i < total/chunk; i++ {
		group.Add(1)
		slots <- true
		go func() { // a new goroutine: a new, small stack
			for j := 0; j < chunk; j++ {
				Work(j)
			}
			<-slots
			group.Done()
		}()
	}
	group.Wait()
	want := int64(total / chunk * chunk)
	fmt.Printf("{\"main.Work\":{\"calls\":%d,\"returned\":%d,\"abnormal\":0},\"ok\":%v}\n", want, calls, calls == want && deep == want)
	if wait {
		in.ReadString('\n')
	}
	if calls != want || deep != want {
		os.Exit(1)
	}
}
