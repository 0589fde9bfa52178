/*
 * AES-128-GCM for packets: two blocks in each of eight registers (VAES, VPCLMULQDQ). OpenSSL 3.0 takes four times as long for
 * a packet, mostly before and after its blocks, which would hide the limit. For this comparison only.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define WIDE __attribute__((target("avx2,aes,pclmul,vaes,vpclmulqdq,ssse3")))
#define BLOCK 16
/* Blocks of one step, with one reduction. */
#define STEP 16

struct gcm {
    __m128i keys[11];
    /* From the 16th power of the hash key to the first, each times x, as the reduction wants it. */
    __m128i powers[STEP];
};

static int gcm_is_available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("aes");
}

static inline WIDE __m128i reversed(__m128i block)
{
    return _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

static inline WIDE __m128i reduced(__m128i low, __m128i middle, __m128i high)
{
    const __m128i polynomial = _mm_set_epi64x((long long)0xc200000000000000, 1);
    middle = _mm_xor_si128(middle, _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(polynomial, low, 0x01)));
    return _mm_xor_si128(
        high, _mm_xor_si128(_mm_shuffle_epi32(middle, 0x4e), _mm_clmulepi64_si128(polynomial, middle, 0x01)));
}

static inline WIDE __m128i multiplied(__m128i a, __m128i b)
{
    __m128i middle = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
    return reduced(_mm_clmulepi64_si128(a, b, 0x00), middle, _mm_clmulepi64_si128(a, b, 0x11));
}

static inline WIDE __m128i halves_joined(__m256i both)
{
    return _mm_xor_si128(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}

static inline WIDE __m128i hashed_one(const struct gcm *gcm, __m128i hash, const unsigned char *block)
{
    hash = _mm_xor_si128(hash, reversed(_mm_loadu_si128((const __m128i *)block)));
    return multiplied(hash, gcm->powers[STEP - 1]);
}

/* The hash with up to 16 blocks more, an even number. */
static inline WIDE __m128i hashed(const struct gcm *gcm, __m128i hash, const unsigned char *blocks, int count)
{
    const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i low = _mm256_setzero_si256(), middle = low, high = low, first = _mm256_inserti128_si256(low, hash, 0);
    if (!count)
        return hash;
    for (int i = 0; i < count; i += 2) {
        __m256i block = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(blocks + i * BLOCK)), swap);
        __m256i power = _mm256_loadu_si256((const __m256i *)&gcm->powers[STEP - count + i]);
        block = _mm256_xor_si256(block, first);
        first = _mm256_setzero_si256();
        low = _mm256_xor_si256(low, _mm256_clmulepi64_epi128(block, power, 0x00));
        middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(block, power, 0x01));
        middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(block, power, 0x10));
        high = _mm256_xor_si256(high, _mm256_clmulepi64_epi128(block, power, 0x11));
    }
    return reduced(halves_joined(low), halves_joined(middle), halves_joined(high));
}

static inline WIDE __m128i encrypted(const struct gcm *gcm, __m128i block)
{
    block = _mm_xor_si128(block, gcm->keys[0]);
    for (int i = 1; i < 10; i++)
        block = _mm_aesenc_si128(block, gcm->keys[i]);
    return _mm_aesenclast_si128(block, gcm->keys[10]);
}

/* 16 blocks of text with as many of the key stream. */
static inline WIDE void combine(const struct gcm *gcm, __m128i counter, unsigned char *to, const unsigned char *from)
{
    const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i state[STEP / 2], pair = _mm256_add_epi32(_mm256_broadcastsi128_si256(counter), _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0));
    __m256i key = _mm256_broadcastsi128_si256(gcm->keys[0]);
#pragma GCC unroll 8
    for (int i = 0; i < STEP / 2; i++) {
        state[i] = _mm256_xor_si256(_mm256_shuffle_epi8(pair, swap), key);
        pair = _mm256_add_epi32(pair, _mm256_set_epi32(0, 0, 0, 2, 0, 0, 0, 2));
    }
#pragma GCC unroll 9
    for (int round = 1; round < 10; round++) {
        key = _mm256_broadcastsi128_si256(gcm->keys[round]);
#pragma GCC unroll 8
        for (int i = 0; i < STEP / 2; i++)
            state[i] = _mm256_aesenc_epi128(state[i], key);
    }
    key = _mm256_broadcastsi128_si256(gcm->keys[10]);
#pragma GCC unroll 8
    for (int i = 0; i < STEP / 2; i++) {
        __m256i text = _mm256_loadu_si256((const __m256i *)(from + 2 * i * BLOCK));
        _mm256_storeu_si256((__m256i *)(to + 2 * i * BLOCK), _mm256_xor_si256(_mm256_aesenclast_epi128(state[i], key), text));
    }
}

#define EXPANDED(i, constant)                                                              \
    do {                                                                                   \
        __m128i last = gcm->keys[(i) - 1], word = _mm_aeskeygenassist_si128(last, constant); \
        last = _mm_xor_si128(last, _mm_slli_si128(last, 4));                               \
        last = _mm_xor_si128(last, _mm_slli_si128(last, 8));                               \
        gcm->keys[i] = _mm_xor_si128(last, _mm_shuffle_epi32(word, 0xff));                 \
    } while (0)

static WIDE void gcm_init(struct gcm *gcm, const unsigned char *key)
{
    __m128i hash, carry;
    gcm->keys[0] = _mm_loadu_si128((const __m128i *)key);
    EXPANDED(1, 0x01);
    EXPANDED(2, 0x02);
    EXPANDED(3, 0x04);
    EXPANDED(4, 0x08);
    EXPANDED(5, 0x10);
    EXPANDED(6, 0x20);
    EXPANDED(7, 0x40);
    EXPANDED(8, 0x80);
    EXPANDED(9, 0x1b);
    EXPANDED(10, 0x36);
    /* Times x, in the reflected order of bits. */
    hash = reversed(encrypted(gcm, _mm_setzero_si128()));
    carry = _mm_srli_epi64(hash, 63);
    hash = _mm_or_si128(_mm_slli_epi64(hash, 1), _mm_slli_si128(carry, 8));
    if (_mm_extract_epi16(carry, 4))
        hash = _mm_xor_si128(hash, _mm_set_epi64x((long long)0xc200000000000000, 1));
    gcm->powers[STEP - 1] = hash;
    for (int i = STEP - 2; i >= 0; i--)
        gcm->powers[i] = multiplied(gcm->powers[i + 1], hash);
}

/* Encrypts `size` bytes and writes the tag behind them; `header` has at most 16 bytes. */
static WIDE void gcm_seal(const struct gcm *gcm, const unsigned char *nonce, const unsigned char *header, size_t header_size,
                          unsigned char *to, const unsigned char *from, size_t size)
{
    unsigned char rest[STEP * BLOCK] = {0}, first[BLOCK] = {0}, padded[BLOCK] = {0};
    __m128i counter, hash, tag, lengths;
    size_t done = 0, tail, blocks;
    memcpy(first, nonce, 12);
    first[15] = 1;
    counter = reversed(_mm_loadu_si128((const __m128i *)first));
    tag = encrypted(gcm, _mm_loadu_si128((const __m128i *)first));
    counter = _mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, 1));
    memcpy(padded, header, header_size);
    hash = hashed_one(gcm, _mm_setzero_si128(), padded);
    for (; size - done >= STEP * BLOCK; done += STEP * BLOCK) {
        combine(gcm, counter, to + done, from + done);
        hash = hashed(gcm, hash, to + done, STEP);
        counter = _mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, STEP));
    }
    tail = size - done;
    memcpy(rest, from + done, tail);
    combine(gcm, counter, rest, rest);
    memcpy(to + done, rest, tail);
    memset(rest + tail, 0, sizeof rest - tail);
    blocks = (tail + BLOCK - 1) / BLOCK;
    lengths = _mm_set_epi64x((long long)header_size * 8, (long long)size * 8);
    if (blocks % 2) {
        hash = hashed_one(gcm, hash, rest);
        hash = hashed(gcm, hash, rest + BLOCK, (int)blocks - 1);
    } else {
        hash = hashed(gcm, hash, rest, (int)blocks);
    }
    hash = multiplied(_mm_xor_si128(hash, lengths), gcm->powers[STEP - 1]);
    _mm_storeu_si128((__m128i *)(to + size), _mm_xor_si128(tag, reversed(hash)));
}
