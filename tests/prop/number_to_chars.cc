// SPDX-License-Identifier: Apache-2.0
// The shortest text of doubles and floats against std::to_chars: the same digits at the same place, for random bit
// patterns and for those next to powers of two and of ten, where the distance to the neighbours changes or estimates
// are one off. TL_SEED chooses the seed; a failure names its own.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

extern "C" {
#include "base/number.h"
}

static const unsigned ROUNDS = 200000;

// "-1.50e+10" as "-15e9".
static std::string plain(const char *text, size_t bytes)
{
    const std::string all(text, bytes), sign = all[0] == '-' ? "-" : "";
    const size_t e = all.find('e');
    long exponent = e == std::string::npos ? 0 : std::atol(all.c_str() + e + 1);
    std::string digits;
    bool point = false;

    for (char c : all.substr(0, e)) {
        point |= c == '.';
        if (c >= '0' && c <= '9') {
            digits += c;
            exponent -= point;
        }
    }
    while (digits.size() > 1 && digits.back() == '0') {
        digits.pop_back();
        exponent++;
    }
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return sign + digits + "e" + std::to_string(exponent);
}

template <class F> static bool agrees(F value, size_t (*print)(char *, F))
{
    char ours[TL_NUMBER_BYTES], theirs[64];
    const size_t n = print(ours, value);
    const auto end = std::to_chars(theirs, theirs + sizeof(theirs), value, std::chars_format::scientific).ptr;

    if (plain(ours, n) == plain(theirs, static_cast<size_t>(end - theirs)))
        return true;
    std::fprintf(stderr, "%a: %.*s, and std::to_chars gives %.*s\n", static_cast<double>(value), static_cast<int>(n),
                 ours, static_cast<int>(end - theirs), theirs);
    return false;
}

template <class F, class Bits>
static bool all_agree(std::mt19937_64 &random, size_t (*print)(char *, F), int from, int to)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        const Bits bits = static_cast<Bits>(random());
        F value;

        std::memcpy(&value, &bits, sizeof(value));
        if (std::isfinite(value) && value != 0 && !agrees<F>(value, print))
            return false;
    }
    for (int e = from; e <= to; e++) {
        const F two = std::ldexp(static_cast<F>(1), e), ten = std::pow(static_cast<F>(10), static_cast<F>(e / 4));

        for (F v : {two, ten})
            for (F near : {v, std::nextafter(v, static_cast<F>(0)), std::nextafter(v, 2 * v)})
                if (std::isfinite(near) && near != 0 && !agrees<F>(near, print))
                    return false;
    }
    return true;
}

int main()
{
    const char *given = std::getenv("TL_SEED");
    const unsigned long long seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    std::mt19937_64 random(seed);

    if (all_agree<double, uint64_t>(random, tl__print_f64, -1074, 1023) &&
        all_agree<float, uint32_t>(random, tl__print_f32, -149, 127))
        return 0;
    std::fprintf(stderr, "TL_SEED=%llu\n", seed);
    return 1;
}
