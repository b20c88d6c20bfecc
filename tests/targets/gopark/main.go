// SPDX-License-Identifier: GPL-2.0-or-later

// gopark [-w] SECONDS KIND: one call of main.serve in four waits, the goroutine parked: for another goroutine (channel), or
// on purpose (sleep).
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"
)

const wait = 2 * time.Millisecond

var ask, answer = make(chan int), make(chan int)

func producer() {
	for i := range ask {
		time.Sleep(wait)
		answer <- i
	}
}

//go:noinline
func spin(n int) int {
	x := 0
	for i := 0; i < n; i++ {
		x += i * i
	}
	return x
}

//go:noinline
func fetch(i int) int {
	ask <- i
	return <-answer
}

//go:noinline
func nap(i int) int {
	time.Sleep(wait)
	return i
}

//go:noinline
func serve(i int, kind string) int {
	x := spin(20000)
	if i%4 == 0 && kind == "channel" {
		x += fetch(i)
	} else if i%4 == 0 {
		x += nap(i)
	}
	return x + spin(1000)
}

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "-w" {
		args = args[1:]
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	seconds, _ := strconv.Atoi(args[0])
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	go producer()
	x := 0
	for i := 0; time.Now().Before(end); i++ {
		x += serve(i, args[1])
		time.Sleep(300 * time.Microsecond)
	}
	fmt.Printf("{\"sum\":%d,\"ok\":true}\n", x)
}
