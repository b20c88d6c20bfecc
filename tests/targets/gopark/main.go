// SPDX-License-Identifier: GPL-2.0-or-later

// gopark [-w] SECONDS KIND: one call of main.serve in four waits, the goroutine parked: for another goroutine (channel), or
// on purpose (sleep). Or (stop) it stops the world and waits for a goroutine that computes without a safepoint, if
// GODEBUG=asyncpreemptoff=1.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

const wait = 2 * time.Millisecond

var ask, answer = make(chan int), make(chan int)
var stats runtime.MemStats
var sink int

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

// Runs until the world is stopped, at the next call of time.Sleep.
func compute() {
	for {
		sink += busy(10000000)
		time.Sleep(500 * time.Microsecond)
	}
}

//go:noinline
func busy(n int) int {
	x := 0
	for i := 0; i < n; i++ {
		x += i * i
	}
	return x
}

//go:noinline
func stopWorld(i int) int {
	runtime.ReadMemStats(&stats)
	return i
}

//go:noinline
func serve(i int, kind string) int {
	x := spin(20000)
	if i%4 == 0 && kind == "channel" {
		x += fetch(i)
	} else if i%4 == 0 && kind == "stop" {
		x += stopWorld(i)
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
	if args[1] == "stop" {
		go compute()
	}
	x := 0
	for i := 0; time.Now().Before(end); i++ {
		x += serve(i, args[1])
		time.Sleep(300 * time.Microsecond)
	}
	fmt.Printf("{\"sum\":%d,\"ok\":true}\n", x)
}
