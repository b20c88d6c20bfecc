// SPDX-License-Identifier: GPL-2.0-or-later
// indirect_virtual [SECONDS]: render() draws four shapes by one virtual call; Fractal::draw()
// sleeps 3 ms in one frame of four.
#include "target.h"

static volatile uint64_t sink;

struct Shape {
	virtual ~Shape() = default;
	virtual void name(uint64_t frame) = 0;
	virtual void draw(uint64_t frame) = 0;
};

WATCHED void dawdle(uint64_t us)
{
	usleep((useconds_t)us);
	KEEP(us);
}

#define SIMPLE(Class, operation)                                                                   \
	struct Class : Shape {                                                                     \
		WATCHED void name(uint64_t) override                                               \
		{                                                                                  \
		}                                                                                  \
		WATCHED void draw(uint64_t frame) override                                         \
		{                                                                                  \
			sink operation frame;                                                      \
		}                                                                                  \
	}
SIMPLE(Line, +=);
SIMPLE(Circle, ^=);
SIMPLE(Text, -=);

struct Fractal : Shape {
	WATCHED void name(uint64_t) override
	{
	}
	WATCHED void draw(uint64_t frame) override
	{
		if (frame % 4 == 0)
			dawdle(3000);
		KEEP(frame);
	}
};

static Shape *volatile scene[4];

WATCHED void render(uint64_t frame)
{
	for (int i = 0; i < 4; i++)
		scene[i]->draw(frame);
}

int main(int argc, char **argv)
{
	uint64_t end, frames = 0;

	target_begin(&argc, &argv);
	scene[0] = new Line;
	scene[1] = new Circle;
	scene[2] = new Fractal;
	scene[3] = new Text;
	end = target_arg(argc, argv, 1, 60) * 1000000000u;
	target_go();
	for (end += now_ns(); now_ns() < end; frames++) {
		render(frames);
		sleep_ns(20000);
	}
	target_truth("{\"render\":{\"calls\":%llu},\"ok\":true}", (unsigned long long)frames);
	return 0;
}
